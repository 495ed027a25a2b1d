// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "model/linear.h"
#include "model/pass_threads.h"

namespace lime {

/// Calls `make_worker()` once per thread and what it returns for each tile in [0, count), tiles
/// going to threads as these become free: those of PassThreads where the calling thread has them,
/// else LibTorch's.
///
/// LibTorch's own loops cut the range into equal parts beforehand: a thread that loses its
/// processor for a while, to a writer's thread or to another program, then holds up all others.
/// Tiles must write disjoint data, so that it does not matter who computes which.
///
/// @param operations  additions and multiplications per tile: few of them stay on one thread
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

/// Calls `run(begin, end)` for blocks that make up [0, count), handed out like tiles.
///
/// @param operations  additions and multiplications per item: a block has enough of them to be
///                    worth handing out
template <typename Run>
void for_each_block(std::int64_t count, std::int64_t operations, const Run& run) {
  const std::int64_t block = parallel_grain(operations);
  for_each_tile((count + block - 1) / block, block * operations, [&] {
    return [&](std::int64_t tile) { run(tile * block, std::min(count, (tile + 1) * block)); };
  });
}

}  // namespace lime
