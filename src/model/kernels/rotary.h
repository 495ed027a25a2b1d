// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "checkpoint/rope_spec.h"

namespace lime {

/// Returns the inverse frequencies of the rotary embedding, scaling included.
///
///   f_i = theta^(-2 i / rotary_dim),   i = 0 ... rotary_dim / 2 - 1
///
/// See RopeSpec for the scaling. Computed in float64 for float64 passes, else in float32 with the
/// operations of transformers in their order: the rounding of a frequency is multiplied by the
/// position, so other float32 frequencies would rotate late tokens by other angles.
/// @param type    of the compute type
/// @param length  tokens of the sequence, which `dynamic` and `longrope` depend on
/// @return [rotary_dim / 2] on the CPU, float64 or float32
/// Source: Su et al. (2021), arXiv:2104.09864; transformers' modeling_rope_utils.py.
at::Tensor rotary_frequencies(const RopeSpec& rope, std::int64_t rotary_dim, at::ScalarType type,
                              std::int64_t length = 0);

/// Returns true if cached keys of one length do not fit sequences of the other.
bool rotates_differently(const RopeSpec& rope, std::int64_t length, std::int64_t other);
/// Returns true for any of the rotary embeddings of a model: sequences of these lengths, padded to
/// one, then need separate passes.
bool rotates_differently(const std::vector<RopeSpec>& ropes, std::int64_t length,
                         std::int64_t other);

/// Cosine and sine of position times frequency, each [seq, rotary_dim / 2]; undefined: no rotation.
struct RotaryAngles {
  at::Tensor cos;
  at::Tensor sin;
  bool interleaved = false;  ///< which dimensions are a pair, see rotate()
};

/// Computes the angles of the positions `first` ... `first + count - 1`.
///
/// The product is computed in the type of the frequencies, as in transformers. Its cosine and sine
/// are computed in float64, rounded to that type, multiplied by `attention_factor`, and rounded to
/// the dtype of `options`.
/// @param frequencies  see rotary_frequencies()
RotaryAngles rotary_angles(const at::Tensor& frequencies, double attention_factor,
                           std::int64_t first, std::int64_t count,
                           const at::TensorOptions& options);

/// Rotates pairs of dimensions: i and i + rotary_dim / 2, Hugging Face's rotate-half form; if the
/// angles are interleaved, 2 i and 2 i + 1, as in the paper.
///
///   (a, b) -> (a cos - b sin, b cos + a sin)
///
/// The angles may be those of the leading dimensions of a head only; the others stay as they are.
/// @param x  [batch, seq, heads, head_dim]
at::Tensor rotate(const at::Tensor& x, const RotaryAngles& angles);

/// Rotates in place; the last dimension must be dense. Requires uses_cpu_kernels(x).
void rotate_in_place(const at::Tensor& x, const RotaryAngles& angles);

}  // namespace lime
