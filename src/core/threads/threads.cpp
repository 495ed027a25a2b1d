// SPDX-License-Identifier: Apache-2.0
#include "core/threads/threads.h"

// Null in programs without OpenMP.
extern "C" void omp_set_num_threads(int num_threads) __attribute__((weak));

namespace lime {
namespace {

constexpr std::uint32_t kClosed = std::uint32_t{1} << 31;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

void check_threads(int num_threads) {
  if (num_threads >= 0 && num_threads <= kMaxThreads) return;
  throw InvalidArgument(OptionName("threads"), "must be from 0 to {} (0 uses all CPUs), got {}",
                        kMaxThreads, num_threads);
}

void throw_thread_error(const std::system_error& error) {
  throw IoError(OptionName("threads"),
                "the system cannot start more of them: {}; give fewer --threads, or raise the "
                "limit (ulimit -u, or pids.max of the control group)",
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

void set_library_threads(int num_threads) {
  if (omp_set_num_threads != nullptr) omp_set_num_threads(num_threads);
}

WorkerThreads::WorkerThreads(int num_threads, int num_spins, const std::function<void()>& prepare)
    : inside_(kClosed), num_spins_(num_spins) {
  start_threads(
      threads_, num_threads - 1,
      [this, prepare](int i) {
        if (prepare) prepare();
        set_library_threads(1);
        serve(i + 1);
      },
      [this] { release(); });
}

WorkerThreads::~WorkerThreads() {
  release();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::run(int num_threads, const std::function<void()>& work) {
  if (num_threads < 2 || threads_.empty()) return work();
  work_ = &work;
  requested_ = num_threads;
  inside_.store(0, std::memory_order_release);  // open
  announce();
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  std::uint32_t now = inside_.fetch_or(kClosed, std::memory_order_acq_rel) | kClosed;
  while (now != kClosed) now = wait_for_change(inside_, now);
  if (failure == nullptr) failure = failure_;
  failure_ = nullptr;
  if (failure != nullptr) std::rethrow_exception(failure);
}

/// Waits until `value` is no longer `old` and returns the new one.
std::uint32_t WorkerThreads::wait_for_change(const std::atomic<std::uint32_t>& value,
                                             std::uint32_t old) const {
  for (int i = 0; i < num_spins_; ++i) {
    const std::uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

void WorkerThreads::announce() {
  announced_.fetch_add(1, std::memory_order_release);
  announced_.notify_all();
}

void WorkerThreads::release() {
  ending_ = true;
  announce();
}

/// Enters the calling worker into the call; false if the call is over.
bool WorkerThreads::enter() {
  std::uint32_t now = inside_.load(std::memory_order_acquire);
  while ((now & kClosed) == 0) {
    if (inside_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

void WorkerThreads::leave() {
  const std::uint32_t before = inside_.fetch_sub(1, std::memory_order_acq_rel);
  if (before == (kClosed | 1)) inside_.notify_one();
}

void WorkerThreads::serve(int index) {
  std::uint32_t seen = 0;
  while (true) {
    seen = wait_for_change(announced_, seen);
    if (ending_) return;
    if (!enter()) continue;
    if (index < requested_) {
      try {
        (*work_)();
      } catch (...) {
        const std::scoped_lock lock(failure_mutex_);
        failure_ = std::current_exception();
      }
    }
    leave();
  }
}

}  // namespace lime
