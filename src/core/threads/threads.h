// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace lime {

/// Maximum of `--threads`: more than CPUs in one machine, and few enough that
/// their stacks fit into its memory.
inline constexpr int kMaxThreads = 1024;

/// Checks the number of threads of an option.
/// @throws InvalidArgument  if it is not in [0, kMaxThreads].
void check_threads(int num_threads);

/// Throws the IoError of a thread that could not be started.
[[noreturn]] void throw_thread_error(const std::system_error& error);

/// Calls `start`, which starts a thread, and returns its result.
/// @throws IoError  if the system starts no more threads.
template <typename Start>
auto start_thread(const Start& start) {
  try {
    return start();
  } catch (const std::system_error& error) {
    throw_thread_error(error);
  }
}

/// Starts `count` threads, which run work(0) ... work(count - 1), and appends them to `threads`.
/// @param release  makes the started threads return; called if a later one cannot be started. They
///                 have then been joined.
/// @throws IoError  if the system starts no more threads.
void start_threads(std::vector<std::thread>& threads, int count,
                   const std::function<void(int)>& work, const std::function<void()>& release);

}  // namespace lime
