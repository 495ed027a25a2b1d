// SPDX-License-Identifier: Apache-2.0
#include "core/threads/spin_pool.h"

#include "core/errors.h"
#include "core/threads/threads.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace lime {
namespace {

constexpr std::uint64_t kOneLoop = std::uint64_t{1} << 32;
constexpr std::uint64_t kWorkers = kOneLoop - 1;
/// Looks at the state before a worker sleeps; one takes about 40 cycles on recent processors.
constexpr int kSpins = 8000;

bool is_open(std::uint64_t state) { return (state & kOneLoop) != 0; }

void pause() {
#ifdef __SSE2__
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

/// Makes the workers of a pool return.
void release(std::atomic<std::uint64_t>& state, std::atomic<bool>& stopping) {
  stopping = true;
  state.fetch_add(2 * kOneLoop);
  state.notify_all();
}

}  // namespace

SpinPool::SpinPool(int num_threads) {
  if (num_threads < 1) throw InvalidArgument("threads: must be >= 1, got {}", num_threads);
  check_threads(num_threads);
  start_threads(
      workers_, num_threads - 1, [this](int) { work(); }, [this] { release(state_, stopping_); });
}

SpinPool::~SpinPool() {
  release(state_, stopping_);
  for (std::thread& worker : workers_) worker.join();
}

void SpinPool::run_items() {
  while (true) {
    const std::int64_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= count_) return;
    call_(item_, index);
  }
}

void SpinPool::work() {
  std::uint64_t seen = 0;  // number of the last loop, in the upper half
  while (true) {
    std::uint64_t state = state_.load(std::memory_order_acquire);
    for (int spin = 0; (state & ~kWorkers) == seen; ++spin) {
      if (spin < kSpins) {
        pause();
      } else {
        state_.wait(state, std::memory_order_acquire);
      }
      state = state_.load(std::memory_order_acquire);
    }
    if (stopping_.load(std::memory_order_relaxed)) return;
    seen = state & ~kWorkers;
    // Join the loop unless it has been closed meanwhile.
    while (is_open(state) && (state & ~kWorkers) == seen) {
      if (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire)) continue;
      run_items();
      state_.fetch_sub(1, std::memory_order_release);
      break;
    }
  }
}

void SpinPool::run(std::int64_t count, const void* item, Call call) {
  if (workers_.empty() || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i) call(item, i);
    return;
  }
  count_ = count;
  item_ = item;
  call_ = call;
  next_.store(0, std::memory_order_relaxed);
  state_.fetch_add(kOneLoop, std::memory_order_release);  // odd: open
  state_.notify_all();
  run_items();
  state_.fetch_add(kOneLoop, std::memory_order_acq_rel);  // even: closed
  while ((state_.load(std::memory_order_acquire) & kWorkers) != 0) pause();
}

}  // namespace lime
