// SPDX-License-Identifier: Apache-2.0
#include "core/threads/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace lime {
namespace {

TEST(BoundedQueueTest, HandsItemsOverInOrder) {
  BoundedQueue<int> queue(8);
  std::vector<int> taken;
  std::thread taker([&] {
    while (const auto item = queue.pop()) taken.push_back(*item);
  });
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(queue.push(i, 3));
  queue.close();
  taker.join();
  ASSERT_EQ(taken.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(taken[static_cast<std::size_t>(i)], i);
}

TEST(BoundedQueueTest, HoldsTheGiverBackWhileTooMuchWaits) {
  BoundedQueue<int> queue(10);
  ASSERT_TRUE(queue.push(1, 6));
  std::atomic<bool> second_is_in = false;
  std::thread giver([&] {
    queue.push(2, 6);
    second_is_in = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(second_is_in);
  EXPECT_EQ(queue.pop(), 1);
  giver.join();
  EXPECT_TRUE(second_is_in);
  EXPECT_GT(queue.push_wait_seconds(), 0.02);
}

TEST(BoundedQueueTest, LetsAnItemLargerThanTheBoundInWhenEmpty) {
  BoundedQueue<int> queue(10);
  EXPECT_TRUE(queue.push(1, 100));
  EXPECT_EQ(queue.pop(), 1);
}

TEST(BoundedQueueTest, RefusesItemsOnceClosed) {
  BoundedQueue<int> queue(10);
  ASSERT_TRUE(queue.push(1, 1));
  queue.close();
  EXPECT_FALSE(queue.push(2, 1));
  EXPECT_EQ(queue.pop(), 1) << "what was inside comes out";
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueueTest, FreesAWaitingGiverWhenClosed) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.push(1, 1));
  std::thread giver([&] { EXPECT_FALSE(queue.push(2, 1)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  queue.close_and_clear();
  giver.join();
  EXPECT_EQ(queue.pop(), std::nullopt);
}

}  // namespace
}  // namespace lime
