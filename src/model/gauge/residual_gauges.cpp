// SPDX-License-Identifier: Apache-2.0
// The axes of the residual stream: their order, and rotations.
#include <ATen/Functions.h>

#include <optional>

#include "model/gauge/gauge_list.h"
#include "model/gauge/norm_gauges.h"

namespace lime {
namespace {

/// Returns the axis of a router's parameter that has the dimensions of the residual stream.
std::optional<std::int64_t> residual_axis_of_router(const ModelConfig& config,
                                                    const ParameterSpec& spec) {
  switch (spec.part) {
    case Part::kRouter:  // the projection of a dynamic router
      if (spec.index == 1) return 1;
      break;
    case Part::kHyperAttention:
    case Part::kHyperFeedForward:  // dynamic_alpha_fn and dynamic_beta_fn
      if (spec.index == 2 || spec.index == 4) return 0;
      break;
    case Part::kAttentionRouter:
    case Part::kFeedForwardRouter:
    case Part::kFinalRouter:
      if (spec.index == 0) return 1;
      if (spec.index == 1 && config.routing == DepthRouting::kAttentionResiduals) return 0;
      break;
    case Part::kOutputRouter:  // w1 of MUDD
      if (spec.index == 0) return 1;
      break;
    default: break;
  }
  return std::nullopt;
}

/// Returns the axis of a parameter that has the dimensions of the residual stream, of each of them
/// if there are several streams; nothing for other parameters.
std::optional<std::int64_t> residual_axis(const ModelConfig& config, const ParameterSpec& spec) {
  const bool has_own_width = config.spec.embedding_size.has_value();
  switch (spec.part) {
    case Part::kEmbedding:
    case Part::kHead:
      if (has_own_width || spec.index != 0) return std::nullopt;
      return 1;
    case Part::kPositions:
    case Part::kProjectOut: return 1;
    case Part::kProjectIn:
    case Part::kAttentionOutput:
    case Part::kDown:
    case Part::kExpertDown:
    case Part::kInputNorm:
    case Part::kKeyInputNorm:
    case Part::kValueInputNorm:
    case Part::kAttentionNorm:
    case Part::kMlpNorm:
    case Part::kOutputNorm:
    case Part::kFinalNorm: return 0;
    case Part::kQuery:
    case Part::kKey:
    case Part::kValue:
    case Part::kGate:
    case Part::kUp:
    case Part::kExpertRouter:
    case Part::kExpertGate:
    case Part::kExpertUp:
    case Part::kSharedExpertGate:
      if (spec.index != 0) return std::nullopt;
      return 1;
    default: return residual_axis_of_router(config, spec);
  }
}

/// Calls `change` with each parameter and its residual axis, which is the last one or, of a vector
/// or a matrix that writes the stream, the first. The streams of mHC are an axis of their own.
template <typename Change> void for_each_residual(const GaugeWeights& weights, Change change) {
  const std::int64_t hidden = weights.config().hidden_size;
  for (const GaugeWeights::Entry& entry : weights.entries()) {
    const auto axis = residual_axis(weights.config(), entry.spec);
    if (!axis) continue;
    const at::Tensor view =
        *axis == 0 ? entry.tensor : entry.tensor.view({entry.tensor.size(0), -1, hidden});
    change(entry.spec, view, *axis == 0 ? 0 : 2);
  }
}

std::string no_refusal(const ModelConfig&) { return {}; }

void permute_residual(GaugeWeights& weights, GaugeDraws& draws) {
  const at::Tensor order = draws.permutation(weights.config().hidden_size);
  for_each_residual(weights, [&](const ParameterSpec&, const at::Tensor& view, std::int64_t axis) {
    permute_along(view, axis, order);
  });
}

std::string rotation_refusal(const ModelConfig& config) {
  if (config.spec.norm_placement == NormPlacement::kBefore || !config.spec.norm.has_weight) {
    return {};
  }
  return "norms after attention and MLP have a gain per dimension of the residual stream, which no "
         "projection follows";
}

/// Returns true if a norm of the stream subtracts the mean over its dimensions.
bool subtracts_mean(const ModelConfig& config) {
  return config.spec.norm.kind == NormKind::kLayerNorm ||
         config.routing == DepthRouting::kHyperConnections;
}

/// Returns true for a gain, which is 1 after fold_norms().
bool is_gain(const ModelConfig& config, const ParameterSpec& spec) {
  if (is_norm(spec.part)) return spec.index == 0;
  return config.routing == DepthRouting::kAttentionResiduals && is_routing(spec.part) &&
         spec.index == 1;
}

void rotate_residual(GaugeWeights& weights, GaugeDraws& draws) {
  if (weights.config().spec.norm.has_weight) fold_norms(weights);
  const ModelConfig& config = weights.config();
  const at::Tensor rotation = draws.rotation(config.hidden_size, subtracts_mean(config));
  for_each_residual(weights, [&](const ParameterSpec& spec, at::Tensor view, std::int64_t axis) {
    if (is_gain(config, spec)) return;
    view.copy_(axis == 0 ? at::matmul(rotation, view) : at::matmul(view, rotation.t()));
  });
}

}  // namespace

const Gauge kResidualPermutation = {
    .name = "residual-permutation",
    .description = "permutes the dimensions of the residual stream",
    .has_strength = false,
    .refusal = no_refusal,
    .apply = permute_residual,
};

const Gauge kResidualRotation = {
    .name = "residual-rotation",
    .description = "rotates the residual stream, after norm-fold",
    .has_strength = true,
    .refusal = rotation_refusal,
    .apply = rotate_residual,
};

}  // namespace lime
