// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/norm.h"

#include <ATen/Functions.h>

#include "model/kernels/differentiable.h"
#include "model/kernels/torch_compat.h"

namespace lime {
namespace {

/// Epsilon of the norms without weights that hyper-connections have.
constexpr double kBareEpsilon = 1e-5;

bool is_layer_norm(const NormSpec& spec) { return spec.kind == NormKind::kLayerNorm; }

RmsNormCast cast_of(const NormSpec& spec, RmsNormCast cast) {
  return spec.rounds_after_weight ? RmsNormCast::kAfterWeight : cast;
}

/// Returns the factor of the normalised values; 1 + weight is computed in float32 or wider.
at::Tensor gain(const at::Tensor& weight, const NormSpec& spec) {
  if (spec.kind != NormKind::kRmsPlusOne) return weight;
  return (weight.scalar_type() == at::kDouble ? weight : weight.to(at::kFloat)) + 1.0;
}

}  // namespace

at::Tensor normalize(const at::Tensor& x, const NormSpec& spec, RmsNormCast cast) {
  if (is_layer_norm(spec)) return at::layer_norm(x, {x.size(-1)}, {}, {}, spec.eps);
  return rms_normalize(x, spec.eps, cast_of(spec, cast));
}

at::Tensor apply_weights(const at::Tensor& normalized, const NormWeights& weights,
                         const NormSpec& spec, at::ScalarType dtype) {
  if (!weights.weight.defined()) return normalized;
  const at::Tensor scaled = apply_gain(normalized, gain(weights.weight, spec), dtype);
  return weights.bias.defined() ? scaled + weights.bias : scaled;
}

at::Tensor apply_norm(const at::Tensor& x, const NormWeights& weights, const NormSpec& spec,
                      RmsNormCast cast, const at::Tensor& out) {
  // LibTorch's layer_norm sums the gradients of its weights per thread.
  if (is_layer_norm(spec) && uses_cpu_gradients(x)) {
    return apply_weights(normalize(x, spec, cast), weights, spec, x.scalar_type());
  }
  if (!weights.weight.defined() || is_layer_norm(spec)) {
    return at::layer_norm(x, {x.size(-1)}, optional_tensor(weights.weight),
                          optional_tensor(weights.bias),
                          is_layer_norm(spec) ? spec.eps : kBareEpsilon);
  }
  const at::Tensor weight = gain(weights.weight, spec);
  if (!out.defined()) return rms_norm(x, weight, spec.eps, cast_of(spec, cast));
  rms_norm_out(out, x, weight, spec.eps);
  return out;
}

}  // namespace lime
