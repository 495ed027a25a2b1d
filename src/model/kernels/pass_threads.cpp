// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/pass_threads.h"

#include <ATen/Parallel.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/threads/thread_pool.h"
#include "core/threads/threads.h"

namespace lime {
namespace {

thread_local PassThreads* current_threads = nullptr;

/// Returns the mutex held by the one thread that has workers.
std::mutex& crew_mutex() {
  static std::mutex mutex;
  return mutex;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Waits until `value` is no longer `old`: spins for some microseconds, then sleeps.
std::uint32_t wait_for_change(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  constexpr int kAttentive = 1000;
  for (int i = 0; i < kAttentive; ++i) {
    const std::uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

}  // namespace

/// The worker threads. A new value of `announced_` announces a job. Workers that start in time
/// enter by incrementing `inside_`, which the owner closes when its own work is done.
class PassThreads::Crew {
 public:
  explicit Crew(int num_threads) {
    start_threads(
        threads_, num_threads - 1, [this](int i) { serve(i + 1); }, [this] { release(); });
  }

  ~Crew() {
    release();
    for (std::thread& thread : threads_) thread.join();
  }

  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  void run(int num_threads, const std::function<void()>& work) {
    work_ = &work;
    wanted_ = num_threads;
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
    if (failure == nullptr) failure = std::exchange(failure_, nullptr);
    failure_ = nullptr;
    if (failure != nullptr) std::rethrow_exception(failure);
  }

 private:
  static constexpr std::uint32_t kClosed = std::uint32_t{1} << 31;

  void release() {
    ending_ = true;
    announce();
  }

  void announce() {
    announced_.fetch_add(1, std::memory_order_release);
    announced_.notify_all();
  }

  /// Enters the calling thread into the job; false if the job is over.
  bool enter() {
    std::uint32_t now = inside_.load(std::memory_order_acquire);
    while ((now & kClosed) == 0) {
      if (inside_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) return true;
    }
    return false;
  }

  void leave() {
    const std::uint32_t before = inside_.fetch_sub(1, std::memory_order_acq_rel);
    if (before == (kClosed | 1)) inside_.notify_one();
  }

  void serve(int index) {
    at::get_num_threads();  // the first call resets a new thread's number
    set_library_threads(1);
    std::uint32_t seen = 0;
    while (true) {
      seen = wait_for_change(announced_, seen);
      if (ending_) return;
      if (!enter()) continue;
      if (index < wanted_) {
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

  std::atomic<std::uint32_t> announced_ = 0;
  std::atomic<std::uint32_t> inside_ = kClosed;
  std::atomic<bool> ending_ = false;
  const std::function<void()>* work_ = nullptr;  // only set while no worker is inside
  int wanted_ = 0;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

PassThreads::PassThreads() {
  const int num_threads = at::get_num_threads();
  if (num_threads < 2 || current_threads != nullptr) return;
  std::unique_lock lock(crew_mutex(), std::try_to_lock);
  if (!lock.owns_lock()) return;
  crew_ = std::make_unique<Crew>(num_threads);
  lock.release();  // until the destructor
  set_library_threads(1);
  current_threads = this;
}

PassThreads::~PassThreads() {
  if (crew_ == nullptr) return;
  current_threads = nullptr;
  set_library_threads(crew_->size());
  crew_.reset();
  crew_mutex().unlock();
}

PassThreads* PassThreads::current() { return current_threads; }

int PassThreads::num_threads() const { return crew_ == nullptr ? 1 : crew_->size(); }

void PassThreads::run(int num_threads, const std::function<void()>& work) {
  if (crew_ == nullptr || num_threads < 2) {
    work();
  } else {
    crew_->run(num_threads, work);
  }
}

int num_tile_threads() {
  return current_threads != nullptr ? current_threads->num_threads() : at::get_num_threads();
}

}  // namespace lime
