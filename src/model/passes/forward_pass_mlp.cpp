// SPDX-License-Identifier: Apache-2.0
// The MLP of a layer, dense or a mixture of experts.
#include "model/kernels/activation.h"
#include "model/passes/forward_pass.h"

namespace lime {

using Slot = Workspace::Slot;

at::Tensor ForwardPass::mlp(int layer, const at::Tensor& x) {
  const LayerWeights& weights = model_.weights.layers[layer];
  const at::Tensor normalized = has_input_norms() ? norm(x, weights.mlp_norm) : x;
  const bool has_experts = model_.config.spec.experts_of(layer) != nullptr;
  return finished(has_experts ? expert_mlp(layer, normalized) : dense_mlp(layer, normalized, false),
                  weights.output_norm);
}

at::Tensor ForwardPass::dense_mlp(int layer, const at::Tensor& normalized, bool is_shared) {
  const DecoderSpec& spec = model_.config.spec;
  const LayerWeights& weights = model_.weights.layers[layer];
  const auto shown = [&](HookKind kind, const at::Tensor& activation) {
    return is_shared ? activation : hook(kind, layer, activation);
  };
  std::vector<const LinearWeights*> parts = {&weights.up};
  if (spec.gated_mlp) parts = {&weights.gate, &weights.up};
  const std::vector<at::Tensor> projections =
      project_parts(Slot::kGateUp, normalized, weights.gate_up, parts);
  const at::Tensor gate = shown(HookKind::kMlpPre, projections[0]);
  at::Tensor up;
  if (spec.gated_mlp) up = shown(HookKind::kMlpPreLinear, projections[1]);
  at::Tensor activation;
  if (in_place_) {
    activation = workspace_->get(Slot::kActivation, gate.sizes(), gate.options());
    activate_out(activation.flatten(0, 1), gate.flatten(0, 1), up.defined() ? up.flatten(0, 1) : up,
                 spec.activation);
  } else {
    activation = activate(gate, up, spec.activation);
  }
  return project(is_shared ? Slot::kShared : Slot::kOutput, shown(HookKind::kMlpPost, activation),
                 weights.down);
}

bool ForwardPass::balances_load() const {
  const std::optional<ExpertsSpec>& experts = model_.config.spec.experts;
  return workspace_ == nullptr && options_.targets.defined() && experts &&
         experts->aux_loss_coef > 0.0;
}

ExpertChoice ForwardPass::choose_experts_of(int layer, const at::Tensor& normalized) {
  const ExpertsSpec& experts = *model_.config.spec.experts_of(layer);
  const LinearWeights& router = model_.weights.layers[layer].expert_router;
  const at::Tensor product = workspace_ == nullptr
                                 ? linear_with_gradients(normalized, {&router})[0]
                                 : apply_linear(normalized, router.weight, router.bias);
  const at::Tensor logits = hook(HookKind::kRouterLogits, layer, product);
  ExpertChoice choice = choose_experts(logits.flatten(0, 1), experts);
  if (balances_load()) {
    router_logits_.push_back(logits.flatten(0, 1));
    expert_indices_.push_back(choice.indices);
  }
  const std::vector<std::int64_t> shape = {normalized.size(0), normalized.size(1), -1};
  if (wants(HookKind::kExpertIndices, layer)) {
    const auto type = product.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    show(HookKind::kExpertIndices, layer, choice.indices.view(shape).to(type));
  }
  if (wants(HookKind::kExpertWeights, layer)) {
    choice.weights =
        hook(HookKind::kExpertWeights, layer, choice.weights.view(shape)).flatten(0, 1);
  }
  return choice;
}

at::Tensor ForwardPass::expert_mlp(int layer, const at::Tensor& normalized) {
  const DecoderSpec& spec = model_.config.spec;
  const ExpertsSpec& experts = *spec.experts_of(layer);
  const LayerWeights& weights = model_.weights.layers[layer];
  const ExpertChoice choice = choose_experts_of(layer, normalized);
  const at::Tensor mixed = apply_experts(normalized.flatten(0, 1), choice, weights.experts, experts,
                                         spec.activation, in_place_ ? workspace_ : nullptr)
                               .view(normalized.sizes());
  if (!experts.shared_intermediate_size) return mixed;
  const LinearWeights& gate = weights.shared_expert_gate;
  const at::Tensor logit = workspace_ == nullptr ? linear_with_gradients(normalized, {&gate})[0]
                                                 : apply_linear(normalized, gate.weight);
  const at::Tensor shared = dense_mlp(layer, normalized, true);
  return mixed + apply_gate(shared.flatten(0, 1), logit.flatten(0, 1)).view(mixed.sizes());
}

}  // namespace lime
