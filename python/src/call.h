// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include "core/threads/thread_pool.h"

namespace lime::python {

/// Runs `work` on a separate thread, without the GIL and with one library thread, as the programs
/// do. The calling thread waits. On Python's main thread it handles signals: Ctrl-C requests a
/// stop. On others it does not take the GIL, and request_stop() stops the work.
/// @throws what `work` throws; nanobind's python_error for a signal handler that raised.
void run_interruptibly(const std::function<void(std::stop_token)>& work);

/// Requests a stop of what the thread with this identifier runs interruptibly, if anything.
void request_stop(unsigned long thread);

/// Adds request_stop() to the module.
void bind_calls(nanobind::module_& module);

/// Likewise for work that returns a value and uses `num_threads` threads (0: all CPUs).
template <typename Work> auto run_with_threads(int num_threads, const Work& work) {
  std::optional<decltype(work(std::declval<ThreadPool&>(), std::stop_token()))> result;
  run_interruptibly([&](const std::stop_token& stop) {
    ThreadPool pool(num_threads);
    result.emplace(work(pool, stop));
  });
  return std::move(*result);
}

/// Likewise on the calling thread, for work of less than a millisecond, which is less than the
/// start of a thread. The work must not call a library that starts threads.
template <typename Work> auto run_at_once(const Work& work) {
  const nanobind::gil_scoped_release without_gil;
  ThreadPool pool(1);
  return work(pool, std::stop_token());
}

/// Runs `call` on the calling thread without the GIL: functions of the store wait for the disk, and
/// for each other.
template <typename Call> auto without_gil(const Call& call) {
  const nanobind::gil_scoped_release released;
  return call();
}

}  // namespace lime::python
