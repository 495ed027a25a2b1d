// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lime {

/// Rows per block of the sums over rows or tokens: fixed, so that results do not depend on the
/// number of threads.
inline constexpr std::int64_t kRowsPerSum = 64;

/// Adds up the rows of a matrix: blocks of rows first, then their sums. The order depends only on
/// the shape; that of LibTorch's sums also depends on the number of threads.
/// @param x  [rows, columns], contiguous; float or double on the CPU
/// @return [columns]
at::Tensor sum_of_rows(const at::Tensor& x);

/// Returns `values` for every token, [batch, seq, ...], with a gradient that is such a sum.
/// @param like  [batch, seq, ...]
at::Tensor repeat_for_tokens(const at::Tensor& values, const at::Tensor& like);

/// Computes x * gain + offset, with gradients that are sums over rows: d gain = sum dy * x, d
/// offset = sum dy. On the CPU they are bit-identical for any number of threads.
/// @param x             [..., columns]
/// @param gain, offset  shaped as the last dimensions of x; one of them may be undefined
at::Tensor scale_and_shift(const at::Tensor& x, const at::Tensor& gain, const at::Tensor& offset);

}  // namespace lime
