// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "model/kernels/linear.h"
#include "model/kernels/pass_threads.h"

namespace lime {

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
  const std::int64_t threads = std::clamp<std::int64_t>(
      (count + tiles_per_thread - 1) / tiles_per_thread, 1, num_tile_threads());
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
  for_each_tile((count + block - 1) / block, block * operations, [&] {
    return [&](std::int64_t tile) { run(tile * block, std::min(count, (tile + 1) * block)); };
  });
}

}  // namespace lime
