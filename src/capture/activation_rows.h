// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace lime {

/// View of a hook's activation with one row per token, without a copy if strides allow.
class ActivationRows {
 public:
  /// @param activation  [batch, seq, dim] or [batch, seq, heads, head_dim], any dtype and device.
  explicit ActivationRows(const at::Tensor& activation);

  std::int64_t batch() const { return batch_; }
  std::int64_t seq() const { return seq_; }
  std::int64_t dim() const { return dim_; }
  /// Returns true if all rows, including padding, are dense and in order.
  bool is_one_matrix() const { return row_stride_ == dim_ && sequence_stride_ == seq_ * dim_; }
  const at::Tensor& tensor() const { return tensor_; }
  const float* row(std::int64_t sequence, std::int64_t position) const {
    return data_ + sequence * sequence_stride_ + position * row_stride_;
  }
  /// Returns the stride between rows of the same sequence, in elements.
  std::int64_t row_stride() const { return row_stride_; }

 private:
  at::Tensor tensor_;  // owns the memory
  const float* data_ = nullptr;
  std::int64_t batch_ = 0;
  std::int64_t seq_ = 0;
  std::int64_t dim_ = 0;
  std::int64_t sequence_stride_ = 0;
  std::int64_t row_stride_ = 0;
};

/// Rearranges a pattern [batch, heads, queries, keys] to one row per query, [batch, queries, heads,
/// num_keys], padded with 0 from `keys` on.
at::Tensor pattern_by_query(const at::Tensor& pattern, std::int64_t num_keys);

/// Averages the tokens of each sequence whose weight is not 0, in double.
/// @param counts  [sequence][position], 1 for tokens that count; at least one per sequence.
/// @param to      [batch, dim]
void mean_rows(const ActivationRows& rows, std::span<const std::vector<std::uint8_t>> counts,
               float* to);

}  // namespace lime
