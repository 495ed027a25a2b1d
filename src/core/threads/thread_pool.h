// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

namespace lime {

/// Returns the number of threads that `--threads 0` selects: the CPUs that this process may run on.
int available_threads();

/// Sets how many threads OpenMP libraries (BLAS, FAISS) start for calls from this thread, where
/// the program has such a library. Threads of a ThreadPool have one, so that bits and load do not
/// depend on what a library thinks best; who wants more says so.
void set_library_threads(int num_threads);

/// Runs independent work items on a fixed number of threads.
///
/// Items are handed out in order, one at a time, so that uneven items balance. Which thread runs
/// an item is not fixed: items must write disjoint data and the caller reduces in item order,
/// which gives the same bits for any number of threads.
class ThreadPool {
 public:
  /// @param num_threads  in [0, kMaxThreads], this thread included; 0: available_threads().
  explicit ThreadPool(int num_threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls item(0) ... item(count - 1) and returns when all are done. The first exception of the
  /// lowest failing index is thrown again here, after the items under way have ended.
  /// @throws Interrupted  if `stop` was requested before all items were started.
  /// Not reentrant: items must not call parallel_for of the same pool.
  void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& item,
                    std::stop_token stop = {});

 private:
  struct Job;
  void work();
  static void run_items(Job& job);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Job* job_ = nullptr;
  std::uint64_t generation_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace lime
