// SPDX-License-Identifier: Apache-2.0
#include "core/threads/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "core/errors.h"

namespace lime {
namespace {

TEST(ThreadPoolTest, RunsEveryItemOnceForAnyNumberOfThreads) {
  for (int threads = 1; threads <= 8; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    std::vector<std::atomic<int>> runs(1000);
    pool.parallel_for(1000, [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(ThreadPoolTest, SpinningThreadsRunEveryItemOnceLoopAfterLoop) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads, ThreadPool::Wait::kSpin);
    EXPECT_EQ(pool.num_threads(), threads);
    std::vector<int> runs(100, 0);
    for (int loop = 0; loop < 500; ++loop) {
      pool.parallel_for(100, [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
    }
    EXPECT_EQ(runs, std::vector<int>(100, 500));
  }
}

TEST(ThreadPoolTest, WakesSpinningThreadsThatHaveGoneToSleep) {
  ThreadPool pool(3, ThreadPool::Wait::kSpin);
  std::vector<int> runs(8, 0);
  for (int loop = 0; loop < 3; ++loop) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pool.parallel_for(8, [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; });
  }
  EXPECT_EQ(runs, std::vector<int>(8, 3));
}

TEST(ThreadPoolTest, DisjointWritesGiveTheSameBitsForAnyNumberOfThreads) {
  const auto sum_with = [](int threads) {
    ThreadPool pool(threads);
    std::vector<double> parts(513);
    pool.parallel_for(513, [&](std::int64_t i) {
      parts[static_cast<std::size_t>(i)] = std::sin(static_cast<double>(i)) * 1e-3;
    });
    return std::accumulate(parts.begin(), parts.end(), 0.0);
  };
  const double expected = sum_with(1);
  for (int threads = 2; threads <= 8; ++threads) EXPECT_EQ(sum_with(threads), expected);
}

TEST(ThreadPoolTest, ServesManyCallsInARow) {
  ThreadPool pool(4);
  std::atomic<std::int64_t> total = 0;
  for (int call = 0; call < 2000; ++call) {
    pool.parallel_for(call % 5, [&](std::int64_t i) { total += i + 1; });
  }
  EXPECT_EQ(total, 400 * (0 + 1 + 3 + 6 + 10));
}

TEST(ThreadPoolTest, ThrowsTheExceptionOfTheLowestIndex) {
  for (const int threads : {1, 4}) {
    ThreadPool pool(threads);
    // Item 1 fails last; items 2 and 3 run at the same time.
    std::atomic<int> started = 0;
    const auto item = [&](std::int64_t i) {
      ++started;
      while (threads > 1 && started < 4) std::this_thread::yield();
      if (i == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (i >= 1) throw NumericalError("item {}", i);
    };
    try {
      pool.parallel_for(4, item);
      FAIL() << "threads=" << threads;
    } catch (const NumericalError& error) {
      EXPECT_STREQ(error.what(), "item 1");
    }
  }
}

TEST(ThreadPoolTest, StartsNoMoreItemsAfterAFailureAndStaysUsable) {
  ThreadPool pool(2);
  std::atomic<int> runs = 0;
  const auto fail = [&](std::int64_t) {
    ++runs;
    throw NumericalError("{}", "always");
  };
  EXPECT_THROW(pool.parallel_for(1000000, fail), NumericalError);
  EXPECT_LT(runs, 100);
  std::atomic<int> later = 0;
  pool.parallel_for(10, [&](std::int64_t) { ++later; });
  EXPECT_EQ(later, 10);
}

TEST(ThreadPoolTest, StopsOnRequest) {
  for (const int threads : {1, 4}) {
    ThreadPool pool(threads);
    std::stop_source stop;
    std::atomic<int> runs = 0;
    const auto item = [&](std::int64_t i) {
      ++runs;
      if (i == 10) stop.request_stop();
    };
    EXPECT_THROW(pool.parallel_for(1000000, item, stop.get_token()), Interrupted);
    EXPECT_LT(runs, 500000);
  }
}

TEST(ThreadPoolTest, AStopAfterTheLastItemIsNoInterruption) {
  ThreadPool pool(1);
  std::stop_source stop;
  int runs = 0;
  const auto item = [&](std::int64_t i) {
    ++runs;
    if (i == 2) stop.request_stop();
  };
  EXPECT_NO_THROW(pool.parallel_for(3, item, stop.get_token()));
  EXPECT_EQ(runs, 3);
}

TEST(ThreadPoolTest, RefusesNegativeNumbersOfThreads) {
  EXPECT_THROW(ThreadPool(-1), InvalidArgument);
  EXPECT_GE(available_threads(), 1);
  EXPECT_EQ(ThreadPool(0).num_threads(), available_threads());
}

}  // namespace
}  // namespace lime
