// SPDX-License-Identifier: Apache-2.0
#include "core/threads/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "core/errors.h"
#include "core/threads/threads.h"

// Null in programs without OpenMP.
extern "C" void omp_set_num_threads(int num_threads) __attribute__((weak));

namespace lime {
namespace {

/// Makes the workers of a pool return.
void release(std::mutex& mutex, bool& stopping, std::condition_variable& wake) {
  {
    const std::lock_guard lock(mutex);
    stopping = true;
  }
  wake.notify_all();
}

}  // namespace

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool is_known = sched_getaffinity(0, sizeof(set), &set) == 0;
  const auto all = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(is_known ? CPU_COUNT(&set) : all, 1, kMaxThreads);
}

void set_library_threads(int num_threads) {
  if (omp_set_num_threads != nullptr) omp_set_num_threads(num_threads);
}

struct ThreadPool::Job {
  std::int64_t count = 0;
  const std::function<void(std::int64_t)>* item = nullptr;
  std::stop_token stop;
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> abandoned{false};
  std::mutex failure_mutex;
  std::int64_t failed_index = -1;
  std::exception_ptr failure;
  int active = 0;  // guarded by the pool's mutex
};

ThreadPool::ThreadPool(int num_threads) {
  check_threads(num_threads);
  const int total = num_threads == 0 ? available_threads() : num_threads;
  start_threads(
      workers_, total - 1, [this](int) { work(); }, [this] { release(mutex_, stopping_, wake_); });
}

ThreadPool::~ThreadPool() {
  release(mutex_, stopping_, wake_);
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run_items(Job& job) {
  while (!job.abandoned.load(std::memory_order_relaxed)) {
    if (job.stop.stop_requested()) {
      if (job.next.load() < job.count) job.abandoned = true;
      return;
    }
    const std::int64_t index = job.next.fetch_add(1);
    if (index >= job.count) return;
    try {
      (*job.item)(index);
    } catch (...) {
      const std::lock_guard lock(job.failure_mutex);
      if (job.failed_index < 0 || index < job.failed_index) {
        job.failed_index = index;
        job.failure = std::current_exception();
      }
      job.abandoned = true;
    }
  }
}

void ThreadPool::work() {
  set_library_threads(1);
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || (job_ != nullptr && generation_ != seen); });
    if (stopping_) return;
    seen = generation_;
    Job& job = *job_;
    ++job.active;
    lock.unlock();
    run_items(job);
    lock.lock();
    if (--job.active == 0) done_.notify_all();
  }
}

void ThreadPool::parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& item,
                              std::stop_token stop) {
  Job job;
  job.count = count;
  job.item = &item;
  job.stop = std::move(stop);
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    ++generation_;
  }
  wake_.notify_all();
  run_items(job);
  {
    std::unique_lock lock(mutex_);
    job_ = nullptr;
    done_.wait(lock, [&] { return job.active == 0; });
  }
  if (job.failure) std::rethrow_exception(job.failure);
  if (job.abandoned) throw Interrupted("stopped on request");
}

}  // namespace lime
