// SPDX-License-Identifier: Apache-2.0
// Scale and order of the hidden units of MLPs and experts, and the order of experts.
#include <ATen/Functions.h>

#include "model/gauge/gauge_list.h"

namespace lime {
namespace {

struct Mlp {
  GaugeProjection gate, up, down;
};

/// Returns the MLP or the shared expert of a layer, and all experts.
std::vector<Mlp> mlps_of(const GaugeWeights& weights, std::int64_t layer) {
  std::vector<Mlp> mlps;
  const Mlp dense{weights.projection(Part::kGate, layer), weights.projection(Part::kUp, layer),
                  weights.projection(Part::kDown, layer)};
  if (dense.up.weight.defined()) mlps.push_back(dense);
  const ExpertsSpec* const experts = weights.config().spec.experts_of(layer);
  for (std::int64_t e = 0; experts != nullptr && e < experts->num_experts; ++e) {
    mlps.push_back({weights.projection(Part::kExpertGate, layer, e),
                    weights.projection(Part::kExpertUp, layer, e),
                    weights.projection(Part::kExpertDown, layer, e)});
  }
  return mlps;
}

std::string unit_scale_refusal(const ModelConfig& config) {
  const DecoderSpec& spec = config.spec;
  if (spec.experts && spec.experts->clamped_gate) {
    return "the activation clamps the up-projection and adds 1 to it";
  }
  if (spec.gated_mlp || activation_spec(spec.activation).degree > 0) return {};
  return fmt::format("the MLP has no gate, and its activation {} is not homogeneous",
                     enum_name(spec.activation));
}

void scale_units(GaugeWeights& weights, GaugeDraws& draws) {
  const DecoderSpec& spec = weights.config().spec;
  // With a gate, only the linear half is scaled.
  const int degree = spec.gated_mlp ? 1 : activation_spec(spec.activation).degree;
  for (std::int64_t layer = 0; layer < weights.config().num_hidden_layers; ++layer) {
    for (const Mlp& mlp : mlps_of(weights, layer)) {
      const at::Tensor factors = draws.factors(mlp.up.weight.size(0));
      mlp.up.multiply_outputs(factors);
      mlp.down.divide_inputs(factors.pow(degree));
    }
  }
}

std::string always_exact(const ModelConfig&) { return {}; }

void permute_units(GaugeWeights& weights, GaugeDraws& draws) {
  for (std::int64_t layer = 0; layer < weights.config().num_hidden_layers; ++layer) {
    for (const Mlp& mlp : mlps_of(weights, layer)) {
      const at::Tensor order = draws.permutation(mlp.up.weight.size(0));
      mlp.gate.permute_outputs(order);
      mlp.up.permute_outputs(order);
      mlp.down.permute_inputs(order);
    }
  }
}

std::string expert_refusal(const ModelConfig& config) {
  return config.spec.experts ? "" : "it has no experts";
}

void permute_experts(GaugeWeights& weights, GaugeDraws& draws) {
  for (std::int64_t layer = 0; layer < weights.config().num_hidden_layers; ++layer) {
    const ExpertsSpec* const experts = weights.config().spec.experts_of(layer);
    if (experts == nullptr) continue;
    const at::Tensor order = draws.permutation(experts->num_experts);
    weights.projection(Part::kExpertRouter, layer).permute_outputs(order);
    for (const Part part : {Part::kExpertGate, Part::kExpertUp, Part::kExpertDown}) {
      for (const int index : {0, 1}) {
        if (!weights.find(part, layer, index, 0).defined()) continue;
        std::vector<at::Tensor> all;
        for (std::int64_t e = 0; e < experts->num_experts; ++e) {
          all.push_back(weights.find(part, layer, index, order[e].item<std::int64_t>()).clone());
        }
        for (std::int64_t e = 0; e < experts->num_experts; ++e) {
          weights.find(part, layer, index, e).copy_(all[e]);
        }
      }
    }
  }
}

}  // namespace

const Gauge kUnitScale = {
    .name = "unit-scale",
    .description =
        "scales the up-projection of each hidden unit, and the down-projection inversely",
    .has_strength = true,
    .refusal = unit_scale_refusal,
    .apply = scale_units,
};

const Gauge kUnitPermutation = {
    .name = "unit-permutation",
    .description = "permutes the hidden units of each MLP",
    .has_strength = false,
    .refusal = always_exact,
    .apply = permute_units,
};

const Gauge kExpertPermutation = {
    .name = "expert-permutation",
    .description = "permutes the experts of each layer",
    .has_strength = false,
    .refusal = expert_refusal,
    .apply = permute_experts,
};

}  // namespace lime
