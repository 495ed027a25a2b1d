// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "checkpoint/norm_spec.h"
#include "core/options.h"
#include "model/kernels/linear_weights.h"

namespace lime {

/// Selects when RMSNorm rounds to the compute type; no difference for float32 and float64.
enum class RmsNormCast {
  kBeforeWeight,  ///< w * cast(x / rms(x)): Hugging Face's LlamaRMSNorm
  kAfterWeight,   ///< cast(w * x / rms(x)): the LIMe code's fix_llama_rmsnorm_cast
};

constexpr auto names_of(RmsNormCast) {
  using enum RmsNormCast;
  return enum_table<RmsNormCast>(
      {{kBeforeWeight, "before-weight"}, {kAfterWeight, "after-weight"}});
}

/// Divides each row by its root mean square: x / sqrt(mean(x^2) + eps).
///
/// Computes in float32 or wider. The result has the dtype of x, or float32 for a 16-bit x under
/// RmsNormCast::kAfterWeight, which rounds after the gain.
/// @param x  [..., hidden]
at::Tensor rms_normalize(const at::Tensor& x, double eps, RmsNormCast cast);

/// Multiplies by the gain and rounds to `dtype`.
/// @param weight  [hidden]
at::Tensor apply_gain(const at::Tensor& normalized, const at::Tensor& weight, at::ScalarType dtype);

/// Computes apply_gain(rms_normalize(x)). Source: Zhang & Sennrich (2019), arXiv:1910.07467.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, RmsNormCast cast);

/// Computes the same in one pass into existing memory. Requires uses_cpu_kernels(x).
/// @param out  [..., hidden], contiguous; may be x
void rms_norm_out(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight, double eps);

/// Normalises each row as `spec` says, without weight and bias.
/// @param x  [..., width]
at::Tensor normalize(const at::Tensor& x, const NormSpec& spec, RmsNormCast cast);

/// Applies weight and bias to normalize(x) and rounds to `dtype`.
at::Tensor apply_weights(const at::Tensor& normalized, const NormWeights& weights,
                         const NormSpec& spec, at::ScalarType dtype);

/// Computes apply_weights(normalize(x)); a norm without weights is a LayerNorm.
/// @param out  memory for the result, contiguous, for the kernels of the CPU; may be undefined
at::Tensor apply_norm(const at::Tensor& x, const NormWeights& weights, const NormSpec& spec,
                      RmsNormCast cast, const at::Tensor& out = {});

}  // namespace lime
