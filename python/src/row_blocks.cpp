// SPDX-License-Identifier: Apache-2.0
#include "row_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/errors.h"
#include "store/capture_layout.h"
#include "store/capture_writer.h"

namespace lime::python {
namespace {

/// Values from here on become infinity when rounded to float16.
constexpr float kHalfOverflow = 65520.0F;
constexpr std::uint32_t kMagnitude = 0x7fffffff;
constexpr std::uint32_t kInfinity = 0x7f800000;

}  // namespace

std::shared_ptr<BlockMemory::Block> BlockMemory::take(std::size_t size) {
  std::unique_ptr<Block> block;
  {
    const std::scoped_lock lock(free_->mutex);
    if (!free_->blocks.empty()) {
      block = std::move(free_->blocks.back());
      free_->blocks.pop_back();
    }
  }
  if (!block) block = std::make_unique<Block>();
  if (block->size() < size) block->resize(size);
  const auto give_back = [free = free_](Block* written) {
    std::unique_ptr<Block> owned(written);
    const std::scoped_lock lock(free->mutex);
    free->blocks.push_back(std::move(owned));
  };
  return {block.release(), give_back};
}

RowBlocks::RowBlocks(const ActivationInfo& activation, StorageType storage, BlockMemory& memory)
    : name_(activation.hook),
      dim_(activation.dim),
      block_rows_(std::max<std::int64_t>(
          1, CaptureWriterOptions().chunk_bytes /
                 (activation.dim * static_cast<std::int64_t>(bytes_per_value(storage))))),
      is_half_(storage == StorageType::kFloat16),
      memory_(memory) {}

void RowBlocks::add(const ConstMatrixRef& rows, const Take& take) {
  throw_if(rows.cols() != dim_, "record: {} had rows of {} values and now has {}", name_, dim_,
           rows.cols());
  const auto row_bytes = static_cast<std::size_t>(dim_) * sizeof(float);
  for (std::int64_t first = 0; first < rows.rows();) {
    if (!block_) block_ = memory_.take(static_cast<std::size_t>(block_rows_ * dim_));
    const std::int64_t count = std::min(rows.rows() - first, block_rows_ - num_rows_);
    float* to = block_->data() + num_rows_ * dim_;
    if (rows.outerStride() == dim_) {
      std::memcpy(to, rows.data() + first * dim_, static_cast<std::size_t>(count) * row_bytes);
    } else {
      for (std::int64_t r = first; r < first + count; ++r, to += dim_) {
        std::memcpy(to, rows.data() + r * rows.outerStride(), row_bytes);
      }
    }
    num_rows_ += count;
    first += count;
    if (num_rows_ == block_rows_) pass_on(take);
  }
}

void RowBlocks::finish(const Take& take) {
  if (num_rows_ > 0) pass_on(take);
}

void RowBlocks::pass_on(const Take& take) {
  const std::shared_ptr<BlockMemory::Block> block = std::move(block_);
  const Eigen::Map<const MatrixF> rows(block->data(), std::exchange(num_rows_, 0), dim_);
  statistics_.add(rows);
  if (is_half_) check_range(rows);
  take(rows, block);
}

void RowBlocks::check_range(const ConstMatrixRef& rows) const {
  // Of numbers that are not negative, the bits are in the same order.
  std::uint32_t largest = 0;
  for (Eigen::Index i = 0; i < rows.size(); ++i) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(rows.data()[i]) & kMagnitude;
    largest = std::max(largest, bits < kInfinity ? bits : 0);
  }
  const auto value = std::bit_cast<float>(largest);
  throw_if(value >= kHalfOverflow,
           "record: {} must stay below {:g} to be stored as float16, got {:g}; use "
           "storage=\"float32\"",
           name_, kHalfOverflow, value);
}

}  // namespace lime::python
