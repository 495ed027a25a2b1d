// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "core/running_statistics.h"
#include "store/capture_info.h"

namespace lime::python {

/// Memory of blocks that are written, for the next ones: fresh memory costs more than the copy.
/// Thread-safe. Blocks may outlive it.
class BlockMemory {
 public:
  using Block = std::vector<float>;

  /// Returns a block of `size` values with any content, which returns here when the last reference
  /// to it ends.
  std::shared_ptr<Block> take(std::size_t size);

 private:
  struct Free {
    std::mutex mutex;
    std::vector<std::unique_ptr<Block>> blocks;
  };
  std::shared_ptr<Free> free_ = std::make_shared<Free>();
};

/// Collects the rows of one dataset of activations into blocks as large as its chunks in the file,
/// and counts the statistics of each block. The statistics depend on the order of the rows only,
/// not on how many arrive at once. Not thread-safe; calls no Python.
class RowBlocks {
 public:
  /// Receives the rows of a block, [num_rows, dim], and what keeps them alive.
  using Take = std::function<void(const ConstMatrixRef&, const std::shared_ptr<const void>&)>;

  RowBlocks(const ActivationInfo& activation, StorageType storage, BlockMemory& memory);

  /// Copies `rows`, [num_rows, dim], and passes full blocks to `take`.
  /// @throws InvalidArgument  if dim differs, or a finite value would overflow in float16.
  void add(const ConstMatrixRef& rows, const Take& take);
  /// Passes the last, partial block to `take`. @throws InvalidArgument
  void finish(const Take& take);

  const RunningStatistics& statistics() const { return statistics_; }

 private:
  void pass_on(const Take& take);
  void check_range(const ConstMatrixRef& rows) const;

  std::string name_;
  std::int64_t dim_;
  std::int64_t block_rows_;
  bool is_half_;
  BlockMemory& memory_;
  std::shared_ptr<BlockMemory::Block> block_;
  std::int64_t num_rows_ = 0;  // in the block
  RunningStatistics statistics_;
};

}  // namespace lime::python
