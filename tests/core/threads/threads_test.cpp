// SPDX-License-Identifier: Apache-2.0
#include "core/threads/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "core/errors.h"
#include "core/threads/thread_pool.h"
#include "support/refusal.h"

namespace lime {
namespace {

using testing::refusal_of;

TEST(ThreadsTest, NumbersBeyondTheLimitAreRefused) {
  for (const int number : {-1, kMaxThreads + 1, 100000, std::numeric_limits<int>::max()}) {
    const std::string expected =
        fmt::format("threads: must be from 0 to 1024 (0 uses all CPUs), got {}", number);
    EXPECT_EQ(refusal_of<InvalidArgument>([&] { check_threads(number); }), expected);
    EXPECT_EQ(refusal_of<InvalidArgument>([&] { ThreadPool{number}; }), expected);
  }
  EXPECT_NO_THROW(check_threads(0));
  EXPECT_NO_THROW(check_threads(kMaxThreads));
}

TEST(ThreadsTest, AThreadThatCannotBeStartedIsAnErrorLikeAnyOther) {
  const auto start = [] {
    return start_thread([]() -> std::thread {
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    });
  };
  EXPECT_EQ(refusal_of<IoError>(start),
            "threads: the system cannot start more of them: Resource temporarily unavailable; give "
            "fewer --threads, or raise the limit (ulimit -u, or pids.max of the control group)");
}

TEST(ThreadsTest, EachThreadRunsItsOwnPart) {
  std::vector<std::atomic<int>> runs(5);
  std::vector<std::thread> threads;
  start_threads(
      threads, 5, [&](int i) { ++runs[static_cast<std::size_t>(i)]; }, [] { FAIL(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : runs) EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace lime
