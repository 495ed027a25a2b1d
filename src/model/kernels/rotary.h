// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "checkpoint/model_config.h"

namespace lime {

/// Returns the inverse frequencies of the rotary embedding, scaling included.
///
///   f_i = rope_theta^(-2 i / head_dim),   i = 0 ... head_dim / 2 - 1
///
/// See RopeScaling for linear and llama3. In double; rotary_angles() rounds to the compute type.
/// Source: Su et al. (2021), arXiv:2104.09864; transformers' modeling_rope_utils.py.
std::vector<double> rotary_frequencies(const ModelConfig& config);

/// Cosine and sine of position times frequency, each [seq, head_dim / 2].
struct RotaryAngles {
  at::Tensor cos;
  at::Tensor sin;
};

/// Computes the angles of the positions `first` ... `first + count - 1`.
///
/// The product and its cosine are computed in float32, as in Hugging Face, or in float64 if that is
/// the compute type; then rounded to the dtype of `options`.
RotaryAngles rotary_angles(const std::vector<double>& frequencies, std::int64_t first,
                           std::int64_t count, const at::TensorOptions& options);

/// Applies the rotation in Hugging Face's rotate-half form: dimension i is paired with i + head_dim
/// / 2.
///
///   (a, b) -> (a cos - b sin, b cos + a sin)
///
/// @param x  [batch, seq, heads, head_dim]
at::Tensor rotate(const at::Tensor& x, const RotaryAngles& angles);

/// Rotates in place; x may be a strided view whose last dimension is dense. Requires
/// uses_cpu_kernels(x).
void rotate_in_place(const at::Tensor& x, const RotaryAngles& angles);

}  // namespace lime
