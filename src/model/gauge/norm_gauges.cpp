// SPDX-License-Identifier: Apache-2.0
// Gains of the norms of the residual stream, against the projections that follow them.
#include "model/gauge/norm_gauges.h"

#include <ATen/Functions.h>

#include <functional>

#include "model/gauge/gauge_list.h"

namespace lime {
namespace {

/// Norms that projections of the same layer read, and that of the output.
constexpr Part kReadNorms[] = {Part::kInputNorm, Part::kKeyInputNorm, Part::kValueInputNorm,
                               Part::kMlpNorm, Part::kFinalNorm};

bool reads_mlp_input(Part part) {
  return part == Part::kGate || part == Part::kUp || part == Part::kExpertRouter ||
         part == Part::kExpertGate || part == Part::kExpertUp || part == Part::kSharedExpertGate;
}

/// Returns the norm that a matrix of a layer reads, if it reads one.
std::optional<Part> norm_read_by(const GaugeWeights& weights, const ParameterSpec& spec) {
  const bool is_dynamic_router = spec.part == Part::kRouter && spec.index == 1;
  if (spec.index != 0 && !is_dynamic_router) return std::nullopt;
  const auto own_or_input = [&](Part norm) {
    return weights.find(norm, spec.layer).defined() ? norm : Part::kInputNorm;
  };
  if (spec.part == Part::kQuery || is_dynamic_router) return Part::kInputNorm;
  if (spec.part == Part::kKey) return own_or_input(Part::kKeyInputNorm);
  if (spec.part == Part::kValue) return own_or_input(Part::kValueInputNorm);
  if (reads_mlp_input(spec.part)) {
    return weights.config().spec.shares_input_norm ? Part::kInputNorm : Part::kMlpNorm;
  }
  const bool has_projection = weights.config().spec.embedding_size.has_value();
  if (spec.part == (has_projection ? Part::kProjectOut : Part::kHead)) return Part::kFinalNorm;
  return std::nullopt;
}

/// Multiplies gain and bias of a norm by the factors and divides the columns of its readers.
void rescale_norm(const GaugeWeights& weights, Part part, std::int64_t layer,
                  const std::function<at::Tensor(const at::Tensor& gain)>& factors_of) {
  const GaugeProjection norm = weights.projection(part, layer);
  if (!norm.weight.defined()) return;
  const bool is_plus_one = weights.config().spec.norm.kind == NormKind::kRmsPlusOne;
  at::Tensor gain = is_plus_one ? norm.weight + 1.0 : norm.weight.clone();
  const at::Tensor factors = factors_of(gain);
  for (const GaugeWeights::Entry& entry : weights.entries()) {
    if (entry.spec.layer != layer || norm_read_by(weights, entry.spec) != part) continue;
    at::Tensor(entry.tensor).div_(factors);
  }
  gain.mul_(factors);
  at::Tensor(norm.weight).copy_(is_plus_one ? gain - 1.0 : gain);
  if (norm.bias.defined()) at::Tensor(norm.bias).mul_(factors);
}

void rescale_norms(GaugeWeights& weights,
                   const std::function<at::Tensor(const at::Tensor& gain)>& factors_of) {
  if (weights.find(Part::kFinalNorm).defined() && !weights.config().spec.embedding_size) {
    weights.untie_head();
  }
  for (const Part part : kReadNorms) {
    for (std::int64_t layer = -1; layer < weights.config().num_hidden_layers; ++layer) {
      rescale_norm(weights, part, layer, factors_of);
    }
  }
}

/// Calls `change` with the query and the gain of the keys of every router of Attention Residuals.
template <typename Change> void for_each_depth_query(const GaugeWeights& weights, Change change) {
  if (weights.config().routing != DepthRouting::kAttentionResiduals) return;
  for (const GaugeWeights::Entry& entry : weights.entries()) {
    const ParameterSpec& spec = entry.spec;
    const bool is_router = spec.part == Part::kAttentionRouter ||
                           spec.part == Part::kFeedForwardRouter || spec.part == Part::kFinalRouter;
    if (is_router && spec.index == 0) change(entry.tensor, weights.find(spec.part, spec.layer, 1));
  }
}

std::string norm_refusal(const ModelConfig& config) {
  const DecoderSpec& spec = config.spec;
  const bool is_last = spec.norm_placement == NormPlacement::kAfter ||
                       spec.norm_placement == NormPlacement::kAfterSum;
  const bool has_inputs = !is_last && config.routing != DepthRouting::kHyperConnections;
  if (!spec.norm.has_weight) return "its norms have no gain";
  if (has_inputs || spec.has_final_norm) return {};
  return "no projection follows its norms: their output is the residual stream";
}

void apply_fold(GaugeWeights& weights, GaugeDraws&) { fold_norms(weights); }

void scale_norms(GaugeWeights& weights, GaugeDraws& draws) {
  rescale_norms(weights, [&](const at::Tensor& gain) { return draws.factors(gain.numel()); });
  for_each_depth_query(weights, [&](at::Tensor query, at::Tensor gain) {
    const at::Tensor factors = draws.factors(gain.numel());
    gain.mul_(factors);
    query.div_(factors);
  });
}

}  // namespace

void fold_norms(GaugeWeights& weights) {
  rescale_norms(weights, [](const at::Tensor& gain) {
    throw_if(gain.eq(0.0).any().item<bool>(), OptionName("transform"),
             "gains of 0 cannot be folded, and a norm has one; use norm-scale");
    return gain.reciprocal();
  });
  for_each_depth_query(weights, [](at::Tensor query, at::Tensor gain) {
    query.mul_(gain);
    gain.fill_(1.0);
  });
}

const Gauge kNormFold = {
    .name = "norm-fold",
    .description = "folds the gain of each norm into the projections that follow it",
    .has_strength = false,
    .refusal = norm_refusal,
    .apply = apply_fold,
};

const Gauge kNormScale = {
    .name = "norm-scale",
    .description = "scales the gain of each norm, and the projections that follow it inversely",
    .has_strength = true,
    .refusal = norm_refusal,
    .apply = scale_norms,
};

}  // namespace lime
