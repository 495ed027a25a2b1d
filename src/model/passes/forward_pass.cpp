// SPDX-License-Identifier: Apache-2.0
#include "model/passes/forward_pass.h"

#include <ATen/Functions.h>

#include "model/decoders/depth_average.h"
#include "model/decoders/hyper_connections.h"
#include "model/decoders/lime_router.h"
#include "model/decoders/value_residual.h"
#include "model/kernels/attention.h"
#include "model/kernels/cross_entropy.h"
#include "model/kernels/differentiable.h"
#include "model/kernels/in_place.h"
#include "model/kernels/linear.h"
#include "model/kernels/linear_gradients.h"
#include "model/kernels/rms_norm.h"
#include "model/kernels/swiglu.h"

namespace lime {

using Slot = Workspace::Slot;

namespace {

constexpr double kLayerNormEpsilon = 1e-5;

std::unique_ptr<ResidualStream> make_stream(const ForwardPass::Model& model, Workspace* workspace,
                                            bool in_place) {
  switch (model.config.decoder) {
    case DecoderKind::kDenseFormer:
      return std::make_unique<DepthAverage>(model.config, model.weights, workspace, in_place);
    case DecoderKind::kHyperConnections:
      return std::make_unique<HyperConnections>(model.weights, model.config.hyper_connections.rate,
                                                workspace, in_place);
    case DecoderKind::kLlama:
    case DecoderKind::kMistral:
    case DecoderKind::kQwen2:
    case DecoderKind::kLime:
    case DecoderKind::kResFormer:
      break;
  }
  return std::make_unique<PlainStream>(in_place);
}

std::unique_ptr<KeyValueMixer> make_mixer(const ForwardPass::Model& model, Workspace* workspace) {
  const ModelConfig& config = model.config;
  if (config.decoder == DecoderKind::kLime && config.lime.router != RouterKind::kNone) {
    return std::make_unique<LimeRouter>(config, model.weights, workspace);
  }
  if (config.decoder == DecoderKind::kResFormer) {
    return std::make_unique<ValueResidual>(config.first_layer_values_only, workspace);
  }
  return nullptr;
}

}  // namespace

ForwardPass::ForwardPass(const Model& model, const ForwardOptions& options, Workspace* workspace)
    : model_(model),
      options_(options),
      workspace_(workspace),
      in_place_(workspace != nullptr && uses_cpu_kernels(model.weights.embedding)),
      stream_(make_stream(model, workspace, in_place_)),
      mixer_(make_mixer(model, workspace)) {}

void ForwardPass::begin(const at::Tensor& ids) {
  const std::int64_t seen = options_.cache != nullptr ? options_.cache->length() : 0;
  num_tokens_ = ids.size(1);
  angles_ = rotary_angles(model_.rotary_frequencies, seen, num_tokens_,
                          model_.weights.embedding.options());
  stream_->begin(hook_owned(HookKind::kEmbed, 0, embed(model_.weights.embedding, ids)));
}

void ForwardPass::run_layers(const LayerRange& layers) {
  const int last = options_.stop_after_layer.value_or(layers.end() - 1);
  first_layer_on_device_ = layers.first;
  for (int layer = layers.first; layer < layers.end() && layer <= last; ++layer) block(layer);
  next_layer_ = layers.end();
}

void ForwardPass::depart(DeviceLink& link) {
  Crossing& crossing = crossing_.emplace(link);
  angles_ = {crossing.carry(angles_.cos), crossing.carry(angles_.sin)};
  stream_->cross(crossing, next_layer_);
  if (mixer_ != nullptr) mixer_->cross(crossing, next_layer_);
}

void ForwardPass::arrive() {
  crossing_->arrive();
  crossing_.reset();
}

ForwardResult ForwardPass::end() {
  if (options_.cache != nullptr) options_.cache->advance(num_tokens_);
  ForwardResult result;
  result.hidden = stream_->value();
  if (options_.stop_after_layer) return result;
  const bool has_targets = options_.targets.defined();
  if (options_.logits == LogitsFor::kNone && !has_targets &&
      !wants(HookKind::kFinalNormalized, 0)) {
    return result;
  }
  // A tied projection is on the device of the embedding.
  at::Tensor normalized = final_norm(result.hidden).to(model_.weights.lm_head.device());
  if (has_targets) {
    result.loss = summed_cross_entropy(normalized.flatten(0, 1), model_.weights.lm_head,
                                       options_.targets.to(normalized.device()).flatten());
  }
  if (options_.logits == LogitsFor::kNone) return result;
  if (options_.logits == LogitsFor::kLastToken) {
    normalized = normalized.narrow(1, normalized.size(1) - 1, 1);
  }
  result.logits = apply_linear(normalized, model_.weights.lm_head);
  return result;
}

void ForwardPass::block(int layer) {
  hook_stream(HookKind::kResidPre, layer);
  at::Tensor x = stream_->branch_input(layer, Branch::kAttention);
  stream_->add(hook(HookKind::kAttnOut, layer, branch(&ForwardPass::self_attention, layer, x)));
  hook_stream(HookKind::kResidMid, layer);
  x = stream_->branch_input(layer, Branch::kFeedForward);
  stream_->add(hook(HookKind::kMlpOut, layer, branch(&ForwardPass::mlp, layer, x)));
  stream_->end_block(layer);
  hook_stream(HookKind::kResidPost, layer);
}

bool ForwardPass::can_recompute(BranchFn function) const {
  if (!options_.recompute_blocks || workspace_ != nullptr || options_.hooks != nullptr) {
    return false;
  }
  return function == &ForwardPass::mlp || mixer_ == nullptr || mixer_->can_replay();
}

at::Tensor ForwardPass::branch(BranchFn function, int layer, const at::Tensor& x) {
  if (!can_recompute(function)) return (this->*function)(layer, x);
  const at::Tensor value =
      value_of([&](const at::Tensor& leaf) { return (this->*function)(layer, leaf); }, x);
  if (replay_ == nullptr) {
    replay_ = std::make_shared<ForwardPass>(model_, ForwardOptions{}, nullptr);
    replay_->angles_ = angles_;
    replay_->mixer_ = mixer_ != nullptr ? mixer_->replay() : nullptr;
  }
  const bool is_attention = function == &ForwardPass::self_attention;
  return recomputed(x, value,
                    is_attention && mixer_ != nullptr ? mixer_->weights_in_graph() : at::Tensor(),
                    [replay = replay_, function, layer](const at::Tensor& leaf) {
                      return (replay.get()->*function)(layer, leaf);
                    });
}

at::Tensor ForwardPass::self_attention(int layer, const at::Tensor& x) {
  const LayerWeights& weights = model_.weights.layers[static_cast<std::size_t>(layer)];
  const std::int64_t dim = model_.config.head_dim;
  const auto by_head = [&](const at::Tensor& projection) {
    return projection.unflatten(-1, {projection.size(-1) / dim, dim});
  };
  const bool has_values = weights.v.weight.defined();
  std::vector<const LinearWeights*> parts = {&weights.q, &weights.k};
  if (has_values) parts.push_back(&weights.v);
  const at::Tensor normalized = norm(x, weights.input_norm);
  const std::vector<at::Tensor> projections =
      project_parts(Slot::kProjections, normalized, weights.qkv, parts);
  const at::Tensor q = hook_owned(HookKind::kQ, layer, by_head(projections[0]));
  const at::Tensor v = has_values ? by_head(projections[2]) : mixer_->shared_values();
  KeysAndValues read{hook_owned(HookKind::kK, layer, by_head(projections[1])),
                     hook(HookKind::kV, layer, v)};
  if (mixer_ != nullptr) read = mixer_->mix(layer, read, normalized);
  read.keys = hook_owned(HookKind::kRoutedK, layer, read.keys);
  read.values = hook(HookKind::kRoutedV, layer, read.values);
  const at::Tensor z = hook(HookKind::kZ, layer, attend(layer, q, read));
  return project(Slot::kOutput, z.flatten(2), weights.o);
}

at::Tensor ForwardPass::attend(int layer, const at::Tensor& q, const KeysAndValues& read) {
  AttentionInput input{hook(HookKind::kRotQ, layer, rotated(q)),
                       hook(HookKind::kRotK, layer, rotated(read.keys)), read.values,
                       model_.config.window_of_layer(layer)};
  if (options_.cache != nullptr) {
    const int holder = first_layer_on_device_;
    const bool shares =
        layer > holder && mixer_ != nullptr && input.v.is_same(mixer_->shared_values());
    std::tie(input.k, input.v) = options_.cache->append(layer, input.k, input.v, shares, holder);
  }
  if (wants(HookKind::kAttnScores, layer) || wants(HookKind::kPattern, layer)) {
    return attention_with_pattern(
        input, [&](const at::Tensor& scores) { return hook(HookKind::kAttnScores, layer, scores); },
        [&](const at::Tensor& pattern) { return hook(HookKind::kPattern, layer, pattern); });
  }
  at::Tensor out;
  if (in_place_) out = workspace_->get(Slot::kAttention, input.q.sizes(), input.q.options());
  return attention(input, out);
}

at::Tensor ForwardPass::mlp(int layer, const at::Tensor& x) {
  const LayerWeights& weights = model_.weights.layers[static_cast<std::size_t>(layer)];
  const std::vector<at::Tensor> projections =
      project_parts(Slot::kGateUp, norm(x, weights.post_attention_norm), weights.gate_up,
                    {&weights.gate, &weights.up});
  const at::Tensor gate = hook(HookKind::kMlpPre, layer, projections[0]);
  const at::Tensor up = hook(HookKind::kMlpPreLinear, layer, projections[1]);
  at::Tensor activation;
  if (in_place_) {
    activation = workspace_->get(Slot::kActivation, gate.sizes(), gate.options());
    swiglu_out(activation.flatten(0, 1), gate.flatten(0, 1), up.flatten(0, 1));
  } else {
    activation = swiglu(gate, up);
  }
  return project(Slot::kOutput, hook(HookKind::kMlpPost, layer, activation), weights.down);
}

at::Tensor ForwardPass::final_norm(const at::Tensor& x) {
  const double eps = model_.config.rms_norm_eps;
  if (!wants(HookKind::kFinalNormalized, 0)) return norm(x, model_.weights.final_norm);
  const at::Tensor normalized =
      hook(HookKind::kFinalNormalized, 0, rms_normalize(x, eps, model_.options.rms_norm_cast));
  return apply_gain(normalized, model_.weights.final_norm, x.scalar_type());
}

at::Tensor ForwardPass::norm(const at::Tensor& x, const at::Tensor& weight) const {
  if (!weight.defined()) return at::layer_norm(x, {x.size(-1)}, {}, {}, kLayerNormEpsilon);
  const double eps = model_.config.rms_norm_eps;
  if (!in_place_) return rms_norm(x, weight, eps, model_.options.rms_norm_cast);
  const at::Tensor out = workspace_->get(Slot::kNormalized, x.sizes(), x.options());
  rms_norm_out(out, x, weight, eps);
  return out;
}

at::Tensor ForwardPass::project(Slot slot, const at::Tensor& x,
                                const LinearWeights& weights) const {
  if (workspace_ == nullptr) return linear_with_gradients(x, {&weights})[0];
  if (!in_place_) return apply_linear(x, weights.weight, weights.bias);
  at::Tensor out =
      workspace_->get(slot, {x.size(0), x.size(1), weights.weight.size(0)}, x.options());
  linear_out(out, x, weights.weight, weights.bias);
  return out;
}

std::vector<at::Tensor> ForwardPass::project_parts(
    Slot slot, const at::Tensor& x, const LinearWeights& whole,
    const std::vector<const LinearWeights*>& parts) const {
  if (workspace_ == nullptr) return linear_with_gradients(x, parts);
  std::vector<at::Tensor> products;
  const at::Tensor product = project(slot, x, whole);
  std::int64_t first = 0;
  for (const LinearWeights* part : parts) {
    products.push_back(product.narrow(-1, first, part->weight.size(0)));
    first += part->weight.size(0);
  }
  return products;
}

at::Tensor ForwardPass::rotated(const at::Tensor& x) const {
  if (!in_place_ || x.stride(-1) != 1) return rotate(x, angles_);
  rotate_in_place(x, angles_);
  return x;
}

bool ForwardPass::wants(HookKind kind, int layer) const {
  return options_.hooks != nullptr && options_.hooks->wants(kind, layer);
}

at::Tensor ForwardPass::hook(HookKind kind, int layer, const at::Tensor& activation) const {
  return wants(kind, layer) ? options_.hooks->run(kind, layer, activation) : activation;
}

void ForwardPass::hook_stream(HookKind kind, int layer) {
  if (!wants(kind, layer)) return;
  const at::Tensor value = stream_->value();
  const at::Tensor result = hook_owned(kind, layer, value);
  if (!result.is_same(value)) stream_->replace(result);
}

at::Tensor ForwardPass::hook_owned(HookKind kind, int layer, const at::Tensor& activation) const {
  at::Tensor result = hook(kind, layer, activation);
  if (!in_place_ || result.is_same(activation)) return result;
  return result.clone(at::MemoryFormat::Contiguous);
}

}  // namespace lime
