// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

namespace lime {

/// Runs many short parallel loops, one after the other, with waits of a microsecond in between.
///
/// A ThreadPool puts its threads to sleep between loops, which costs some 50 microseconds each
/// time: too much for iterations of a millisecond. Here they keep looking for work for about
/// 100 microseconds before they sleep. Make one for the duration of an iterative algorithm.
///
/// As with ThreadPool, items are handed out in order, which thread runs one is not fixed, and the
/// caller reduces in item order. A thread that the system has put aside is not waited for unless
/// it holds an item.
class SpinPool {
 public:
  /// @param num_threads  in [1, kMaxThreads], the calling thread included.
  explicit SpinPool(int num_threads);
  ~SpinPool();
  SpinPool(const SpinPool&) = delete;
  SpinPool& operator=(const SpinPool&) = delete;

  int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls item(0) ... item(count - 1) and returns when all are done. Items must not throw, and
  /// must not call parallel_for of the same pool.
  template <typename Item>
  void parallel_for(std::int64_t count, const Item& item) {
    static_assert(std::is_invocable_v<const Item&, std::int64_t>);
    run(count, &item,
        [](const void* target, std::int64_t index) { (*static_cast<const Item*>(target))(index); });
  }

 private:
  using Call = void (*)(const void*, std::int64_t);

  void run(std::int64_t count, const void* item, Call call);
  void run_items();
  void work();

  // Number of the loop in the upper half, odd while it is open to workers; in the lower half the
  // number of workers in it.
  std::atomic<std::uint64_t> state_{0};
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> stopping_{false};
  std::int64_t count_ = 0;
  const void* item_ = nullptr;
  Call call_ = nullptr;
  std::vector<std::thread> workers_;
};

}  // namespace lime
