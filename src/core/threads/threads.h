// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

#include "core/errors.h"

namespace lime {

/// Throws if a stop was requested, for long calls without a message of their own.
/// @throws Interrupted  if `stop` was requested.
inline void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Interrupted("stopped on request");
}

/// Maximum of `--threads`: more than a machine's CPUs, and their stacks fit into its memory.
inline constexpr int kMaxThreads = 1024;

/// Checks the number of threads of an option.
/// @throws InvalidArgument  if it is not in [0, kMaxThreads].
void check_threads(int num_threads);

/// Throws the IoError of a thread that could not be started.
[[noreturn]] void throw_thread_error(const std::system_error& error);

/// Calls `start`, which starts a thread, and returns its result.
/// @throws IoError  if the system starts no more threads.
template <typename Start> auto start_thread(const Start& start) {
  try {
    return start();
  } catch (const std::system_error& error) {
    throw_thread_error(error);
  }
}

/// Starts `count` threads, which run work(0) ... work(count - 1), and appends them to `threads`.
/// @param release  makes the started threads return if a later one cannot be started.
/// @throws IoError  if the system starts no more threads.
void start_threads(std::vector<std::thread>& threads, int count,
                   const std::function<void(int)>& work, const std::function<void()>& release);

/// Sets the threads of OpenMP libraries (BLAS, FAISS) for calls from this thread, if the program
/// has one. Worker threads have one, so that results do not depend on the library's choice.
void set_library_threads(int num_threads);

/// Runs one function at a time on several threads that wait for the next one.
///
/// No call waits for a worker that has not started: workers that wake up in time join a call, and
/// the call ends when those that joined are done. ThreadPool and PassThreads distribute items.
class WorkerThreads {
 public:
  /// @param num_threads  in [1, kMaxThreads], including the calling thread. @param num_spins  how
  /// often a thread looks for a change before it sleeps: 1000 take about 12 microseconds, waking up
  /// some 50. @param prepare  runs first on each worker. @throws IoError
  WorkerThreads(int num_threads, int num_spins, const std::function<void()>& prepare = {});
  ~WorkerThreads();

  int num_threads() const { return static_cast<int>(threads_.size()) + 1; }

  /// Calls `work` on this thread and concurrently on up to `num_threads - 1` workers that start
  /// before this call is done; returns when all have ended. `work` must distribute the items
  /// itself. Rethrows an exception of `work` on this thread, or else on one of the others.
  /// Not reentrant, and for one calling thread at a time.
  void run(int num_threads, const std::function<void()>& work);

 private:
  std::uint32_t wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old) const;
  void announce();
  void release();
  bool enter();
  void leave();
  void serve(int index);

  // A new value of `announced_` announces a call. Workers that start in time enter by incrementing
  // `inside_`, which the caller closes when its own work is done.
  std::atomic<std::uint32_t> announced_ = 0;
  std::atomic<std::uint32_t> inside_;
  std::atomic<bool> ending_ = false;
  const std::function<void()>* work_ = nullptr;  // only set while no worker is inside
  int requested_ = 0;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  int num_spins_;
  std::vector<std::thread> threads_;
};

}  // namespace lime
