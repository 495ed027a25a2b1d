// SPDX-License-Identifier: Apache-2.0
#include "core/threads/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <limits>

namespace lime {
namespace {

constexpr int kSpins = 8000;  // of about 40 cycles

int checked_threads(int num_threads) {
  check_threads(num_threads);
  return num_threads == 0 ? available_threads() : num_threads;
}

class Loop {
 public:
  Loop(std::int64_t count, const std::function<void(std::int64_t)>& item, std::stop_token stop)
      : count_(count), item_(item), stop_(std::move(stop)) {}

  void run_items() {
    while (!abandoned_.load(std::memory_order_relaxed)) {
      if (stop_.stop_requested()) {
        if (next_.load() < count_) abandoned_ = true;
        return;
      }
      const std::int64_t index = next_.fetch_add(1);
      if (index >= count_) return;
      try {
        item_(index);
      } catch (...) {
        fail(index, std::current_exception());
      }
    }
  }

  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_);
    if (abandoned_) throw Interrupted("stopped on request");
  }

 private:
  void fail(std::int64_t index, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (index < failed_index_) {
      failed_index_ = index;
      failure_ = std::move(failure);
    }
    abandoned_ = true;
  }

  std::int64_t count_;
  const std::function<void(std::int64_t)>& item_;
  std::stop_token stop_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> abandoned_{false};
  std::mutex mutex_;
  std::int64_t failed_index_ = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr failure_;
};

}  // namespace

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool is_known = sched_getaffinity(0, sizeof(set), &set) == 0;
  const auto all = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(is_known ? CPU_COUNT(&set) : all, 1, kMaxThreads);
}

ThreadPool::ThreadPool(int num_threads, Wait wait)
    : threads_(checked_threads(num_threads), wait == Wait::kSpin ? kSpins : 0) {}

void ThreadPool::parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& item,
                              std::stop_token stop) {
  Loop loop(count, item, std::move(stop));
  threads_.run(count < 2 ? 1 : num_threads(), [&loop] { loop.run_items(); });
  loop.rethrow_failure();
}

}  // namespace lime
