// SPDX-License-Identifier: Apache-2.0
#include "core/threads/threads.h"

#include "core/errors.h"

namespace lime {

void check_threads(int num_threads) {
  if (num_threads >= 0 && num_threads <= kMaxThreads) return;
  throw InvalidArgument("threads: must be from 0 to {} (0 uses all CPUs), got {}", kMaxThreads,
                        num_threads);
}

void throw_thread_error(const std::system_error& error) {
  throw IoError(
      "threads: the system starts no more of them: {}; give fewer --threads, or raise the limit "
      "(ulimit -u, or pids.max of the control group)",
      error.code().message());
}

void start_threads(std::vector<std::thread>& threads, int count,
                   const std::function<void(int)>& work, const std::function<void()>& release) {
  try {
    for (int i = 0; i < count; ++i) {
      threads.push_back(start_thread([&] { return std::thread(work, i); }));
    }
  } catch (...) {
    release();
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    throw;
  }
}

}  // namespace lime
