// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/threads/threads.h"
#include "model/kernels/linear.h"

namespace lime {

/// While it exists, the tiles of forward passes on the calling thread (parallel_tiles.h) run on
/// worker threads that sleep when idle.
///
/// LibTorch uses OpenMP threads, which spin for milliseconds after every loop. This does not matter
/// to a program that only computes, but capture writes files during the passes: the writer gets no
/// CPU until the threads stop spinning, and then the passes wait for the threads that it displaced.
/// WorkerThreads spin for microseconds only, and no thread waits for one that has not started.
///
/// LibTorch's own loops on the calling thread then run on that thread alone: the OpenMP threads
/// stay asleep. Only one thread of a process can have workers; further objects do nothing, nor does
/// one if LibTorch has a single thread or MKL, whose products need the OpenMP threads.
class PassThreads {
 public:
  /// Uses LibTorch's number of threads, including the calling one.
  PassThreads();
  ~PassThreads();

  /// Returns the object of the calling thread, or null.
  static PassThreads* current();

  /// Returns the number of threads, including the calling one.
  int num_threads() const;

  /// Calls `work` on this thread and concurrently on up to `num_threads - 1` workers that start
  /// before this call is done; returns when all have ended. `work` must distribute the items
  /// itself. Rethrows an exception of `work` on this thread, or else on one of the others.
  void run(int num_threads, const std::function<void()>& work);

 private:
  std::unique_ptr<WorkerThreads> workers_;
};

/// Returns the number of threads for the loops of parallel_tiles.h on the calling thread.
int num_tile_threads();

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Calls `make_worker()` once per thread and the worker it returns for each tile in [0, count).
/// Tiles are assigned dynamically, as threads become free. Runs on PassThreads if the calling
/// thread has them, else on LibTorch's threads.
///
/// LibTorch's own loops split the range into equal parts in advance: a thread that loses its CPU
/// for a while, to a writer thread or to another program, then delays all others. Tiles must write
/// disjoint data, so that the result does not depend on the assignment.
///
/// @param operations  additions and multiplications per tile; little work stays on one thread
template <typename MakeWorker>
void for_each_tile(std::int64_t count, std::int64_t operations, const MakeWorker& make_worker) {
  const std::int64_t tiles_per_thread = parallel_grain(operations);
  const std::int64_t threads =
      std::clamp<std::int64_t>(ceil_div(count, tiles_per_thread), 1, num_tile_threads());
  std::atomic<std::int64_t> next = 0;
  const auto work = [&] {
    auto worker = make_worker();
    for (std::int64_t tile = next++; tile < count; tile = next++) worker(tile);
  };
  if (PassThreads* const own = PassThreads::current(); own != nullptr) {
    own->run(static_cast<int>(threads), work);
  } else {
    at::parallel_for(0, threads, 1, [&](std::int64_t, std::int64_t) { work(); });
  }
}

/// Calls `run(begin, end)` for blocks that partition [0, count), assigned like tiles.
///
/// @param operations  additions and multiplications per item; determines the block size
template <typename Run>
void for_each_block(std::int64_t count, std::int64_t operations, const Run& run) {
  const std::int64_t block = parallel_grain(operations);
  for_each_tile(ceil_div(count, block), block * operations, [&] {
    return [&](std::int64_t tile) { run(tile * block, std::min(count, (tile + 1) * block)); };
  });
}

// Operations of a forward pass on whole activations other than products, parallel over tokens with
// the loops of parallel_tiles.h. All tensors are [batch, seq, ...]; inference only.

/// Computes x <- x + y.
void add_in_place(const at::Tensor& x, const at::Tensor& y);

/// Copies `from` into `to`.
void copy_in_place(const at::Tensor& to, const at::Tensor& from);

/// Calls `run(begin, length)` for ranges of tokens; for one unless uses_cpu_kernels(x).
void for_each_token_range(const at::Tensor& x,
                          const std::function<void(std::int64_t, std::int64_t)>& run);

/// Applies a function of LibTorch to each element. On the CPU it is called for parts that it
/// computes on one thread: it rounds elements at the ends of a thread's part differently.
at::Tensor map_elements(const at::Tensor& x,
                        const std::function<at::Tensor(const at::Tensor&)>& function);

/// Looks up rows of the embedding: [vocab, hidden], [batch, seq] -> [batch, seq, hidden].
at::Tensor embed(const at::Tensor& table, const at::Tensor& ids);

}  // namespace lime
