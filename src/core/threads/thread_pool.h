// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

#include "core/threads/threads.h"

namespace lime {

/// Returns the number of threads that `--threads 0` selects: the CPUs that this process may run on.
int available_threads();

/// Runs independent work items on a fixed number of threads.
///
/// Items are handed out in order, one at a time, so that uneven items balance. Which thread runs
/// an item is not fixed: items must write disjoint data and the caller reduces in item order,
/// which gives the same bits for any number of threads.
class ThreadPool {
 public:
  /// Behaviour of the threads between loops; spinning, for 100 microseconds, suits iterations.
  enum class Wait { kSleep, kSpin };

  /// @param num_threads  in [0, kMaxThreads], this thread included; 0: available_threads().
  explicit ThreadPool(int num_threads = 0, Wait wait = Wait::kSleep);

  int num_threads() const { return threads_.num_threads(); }

  /// Calls item(0) ... item(count - 1) and returns when all are done. The first exception of the
  /// lowest failing index is thrown again here, after the items under way have ended.
  /// @throws Interrupted  if `stop` was requested before all items were started.
  /// Not reentrant: items must not call parallel_for of the same pool.
  void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& item,
                    std::stop_token stop = {});

 private:
  WorkerThreads threads_;
};

}  // namespace lime
