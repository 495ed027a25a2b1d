// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "checkpoint/decoder_spec.h"
#include "model/decoders/decoder_weights.h"
#include "model/kernels/rms_norm.h"

namespace lime {

/// Normalises each row: divides by the root mean square, or also subtracts the mean, as `spec`
/// says; without weight and bias.
/// @param x  [..., width]
at::Tensor normalize(const at::Tensor& x, const NormSpec& spec, RmsNormCast cast);

/// Applies weight and bias to normalize(x) and rounds to `dtype`.
at::Tensor apply_weights(const at::Tensor& normalized, const NormWeights& weights,
                         const NormSpec& spec, at::ScalarType dtype);

/// Computes apply_weights(normalize(x)). A norm without weights (of hyper-connections) is a
/// LayerNorm.
/// @param out  memory for the result, contiguous, for the kernels of the CPU; may be undefined
at::Tensor apply_norm(const at::Tensor& x, const NormWeights& weights, const NormSpec& spec,
                      RmsNormCast cast, const at::Tensor& out = {});

}  // namespace lime
