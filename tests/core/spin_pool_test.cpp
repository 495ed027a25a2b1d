// SPDX-License-Identifier: Apache-2.0
#include "core/threads/spin_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "core/errors.h"

namespace lime {
namespace {

TEST(SpinPoolTest, RunsEveryItemOnceLoopAfterLoop) {
  for (const int threads : {1, 2, 5}) {
    SpinPool pool(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    std::vector<int> runs(100, 0);
    for (int loop = 0; loop < 500; ++loop) {
      pool.parallel_for(100, [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
    }
    EXPECT_EQ(runs, std::vector<int>(100, 500));
  }
}

TEST(SpinPoolTest, WakesThreadsThatHaveGoneToSleep) {
  SpinPool pool(3);
  std::vector<int> runs(8, 0);
  for (int loop = 0; loop < 3; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pool.parallel_for(8, [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
  }
  EXPECT_EQ(runs, std::vector<int>(8, 3));
}

TEST(SpinPoolTest, DoesNothingForNoItems) {
  SpinPool pool(2);
  pool.parallel_for(0, [](std::int64_t) { FAIL(); });
}

TEST(SpinPoolTest, WantsAThread) { EXPECT_THROW(SpinPool(0), InvalidArgument); }

}  // namespace
}  // namespace lime
