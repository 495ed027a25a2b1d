// SPDX-License-Identifier: Apache-2.0
#include "model/passes/forward_pass.h"

#include "checkpoint/router_layout.h"
#include "model/decoders/stage_plan.h"
#include "model/kernels/differentiable.h"
#include "model/kernels/row_sums.h"
#include "model/kernels/sent_to.h"
#include "model/passes/output_head.h"
#include "model/passes/prefix_tree.h"

namespace lime {

using Slot = Workspace::Slot;

ForwardPass::ForwardPass(const Model& model, const ForwardOptions& options, Workspace* workspace)
    : model_(model),
      options_(options),
      workspace_(workspace),
      in_place_(workspace != nullptr && uses_cpu_kernels(model.weights.embedding)),
      stream_(make_stream(model.config, model.weights, workspace, in_place_)),
      routing_(make_routing(model.config, model.weights, workspace)) {}

void ForwardPass::begin(const at::Tensor& ids) {
  const std::int64_t seen = options_.cache != nullptr ? options_.cache->length() : 0;
  num_tokens_ = ids.size(1);
  if (options_.hooks != nullptr) options_.hooks->begin(ids, seen);
  for (int layer = 0; layer < model_.config.num_hidden_layers; ++layer) {
    if (wants(HookKind::kStreamWeights, layer)) stream_->record_stream_weights();
  }
  begin_sources();
  begin_rotation(seen);
  begin_stream(ids, seen);
}

void ForwardPass::begin_rotation(std::int64_t seen) {
  const ModelConfig& config = model_.config;
  const PrefixTree* const tree = options_.tree;
  const std::int64_t length = tree != nullptr ? tree->depth() : seen + num_tokens_;
  for (std::size_t i = 0; i < config.spec.ropes.size(); ++i) {
    const RopeSpec& rope = config.spec.ropes[i];
    throw_if(
        seen > 0 && rotates_differently(rope, seen, length),
        "decoder: the rotary embedding '{}' of {} tokens does not fit the {} cached ones; clear "
        "the cache and pass the whole sequence",
        enum_name(rope.kind), length, seen);
    const bool is_usual = !rotates_differently(rope, 0, length);
    const at::Tensor& embedding = model_.weights.embedding;
    angles_.push_back(rotary_angles(
        is_usual ? model_.rotary_frequencies[i]
                 : rotary_frequencies(rope, config.rotary_dim(), embedding.scalar_type(), length),
        rope.attention_factor, seen, length - seen, embedding.options()));
    if (tree != nullptr) {
      const at::Tensor positions = sent_to(embedding.device(), tree->positions());
      angles_.back().cos = angles_.back().cos.index_select(0, positions);
      angles_.back().sin = angles_.back().sin.index_select(0, positions);
    }
    angles_.back().interleaved = config.spec.interleaved_rotation;
  }
}

void ForwardPass::begin_stream(const at::Tensor& ids, std::int64_t seen) {
  const DecoderSpec& spec = model_.config.spec;
  const DecoderWeights& weights = model_.weights;
  at::Tensor x = embed(weights.embedding, ids);
  if (spec.embedding_multiplier != 1.0) {
    // Rounded to the compute type first, as transformers does.
    x = x * at::scalar_tensor(spec.embedding_multiplier, x.options()).item<double>();
  }
  if (weights.project_in.weight.defined()) x = linear_with_gradients(x, {&weights.project_in})[0];
  x = hook_owned(HookKind::kEmbed, 0, x);
  if (spec.learned_position_offset) {
    x = scale_and_shift(x, {}, learned_positions(seen));
  }
  keep_source(x);
  stream_->begin(x);
}

at::Tensor ForwardPass::learned_positions(std::int64_t seen) const {
  const at::Tensor& table = model_.weights.positions;
  const PrefixTree* const tree = options_.tree;
  const std::int64_t length = tree != nullptr ? tree->depth() : seen + num_tokens_;
  const std::int64_t most = model_.config.max_position_embeddings;
  throw_if(length > most, "decoder: sequences of '{}' have at most {} tokens, got {}",
           model_.config.family, most, length);
  const std::int64_t offset = *model_.config.spec.learned_position_offset;
  if (tree == nullptr) return table.narrow(0, seen + offset, num_tokens_);
  return table.index_select(0, sent_to(table.device(), tree->positions() + offset));
}

void ForwardPass::run_layers(const LayerRange& layers) {
  const int last = options_.stop_after_layer.value_or(layers.end() - 1);
  first_layer_on_device_ = layers.first;
  for (int layer = layers.first; layer < layers.end() && layer <= last; ++layer) block(layer);
  next_layer_ = layers.end();
}

void ForwardPass::depart(DeviceLink& link) {
  Crossing& crossing = crossing_.emplace(link);
  for (RotaryAngles& angles : angles_) {
    angles = {crossing.carry(angles.cos), crossing.carry(angles.sin), angles.interleaved};
  }
  stream_->cross(crossing, next_layer_);
  if (routing_ != nullptr) routing_->cross(crossing, next_layer_);
  for (at::Tensor& source : sources_) source = crossing.carry(source);
  for (KeysAndValues& source : key_value_sources_) {
    source = {crossing.carry(source.keys), crossing.carry(source.values)};
  }
}

void ForwardPass::arrive() {
  crossing_->arrive();
  crossing_.reset();
}

std::unique_ptr<ForwardPass> ForwardPass::fork(const HookSet* hooks) const {
  ForwardOptions options = options_;
  options.hooks = hooks;
  auto pass = std::make_unique<ForwardPass>(model_, options, workspace_);
  pass->num_tokens_ = num_tokens_;
  pass->next_layer_ = next_layer_;
  pass->angles_ = angles_;
  pass->stream_ = stream_->clone();
  if (routing_ != nullptr) pass->routing_ = routing_->clone();
  pass->keeps_sources_ = keeps_sources_;
  DeviceLink link(model_.weights.embedding.device(), model_.weights.embedding.device());
  pass->depart(link);
  pass->arrive();
  // They are never written to.
  pass->sources_ = sources_;
  pass->key_value_sources_ = key_value_sources_;
  pass->check_sources();
  return pass;
}

ForwardResult ForwardPass::end() {
  if (options_.cache != nullptr) options_.cache->advance(num_tokens_);
  ForwardResult result;
  result.hidden = stream_->value();
  if (options_.stop_after_layer) return result;
  if (final_input_.defined()) result.hidden = final_input_;
  const bool has_targets = options_.targets.defined();
  if (options_.logits == LogitsFor::kNone && !has_targets &&
      !wants(HookKind::kFinalNormalized, 0)) {
    return result;
  }
  at::Tensor normalized = final_norm(result.hidden);
  const DecoderSpec& spec = model_.config.spec;
  if (has_targets) result.loss = output_loss(normalized, options_.targets, model_.weights, spec);
  if (!router_logits_.empty()) {
    const auto targets = options_.targets.ne(kIgnoredTarget).sum().item<double>();
    result.loss = result.loss + load_balancing_loss(router_logits_, expert_indices_) *
                                    (spec.experts->aux_loss_coef * targets);
  }
  if (options_.logits == LogitsFor::kNone) return result;
  if (options_.logits == LogitsFor::kLastToken) {
    normalized = normalized.narrow(1, normalized.size(1) - 1, 1);
  }
  result.logits = output_logits(normalized, model_.weights, spec);
  return result;
}

void ForwardPass::block(int layer) {
  hook_stream(HookKind::kResidPre, layer);
  const LayerWeights& weights = model_.weights.layers[layer];
  const bool is_parallel = model_.config.spec.parallel_residual;
  at::Tensor x = stream_->branch_input(layer, Branch::kAttention);
  at::Tensor beside;
  if (is_parallel) beside = stream_->branch_input(layer, Branch::kFeedForward);
  if (is_parallel && in_place_) {
    const at::Tensor own = workspace_->get(Slot::kParallel, x.sizes(), x.options());
    copy_in_place(own, beside);
    beside = own;
  }
  x = edited_input(layer, Branch::kAttention, x);
  add_to_stream(hook(HookKind::kAttnOut, layer, branch(&ForwardPass::self_attention, layer, x)),
                weights.attention_norm);
  hook_stream(HookKind::kResidMid, layer);
  if (!is_parallel) beside = stream_->branch_input(layer, Branch::kFeedForward);
  beside = edited_input(layer, Branch::kFeedForward, beside);
  add_to_stream(hook(HookKind::kMlpOut, layer, branch(&ForwardPass::mlp, layer, beside)),
                weights.output_norm);
  stream_->end_block(layer);
  hook_streams(layer);
  hook_stream(HookKind::kResidPost, layer);
  if (stream_->is_traced()) show_depth_weights(layer);
  show_stream_weights(layer);
}

void ForwardPass::hook_streams(int layer) {
  if (num_streams(model_.config) == 0 || !wants(HookKind::kStreams, layer)) return;
  const at::Tensor streams = stream_->streams();
  const at::Tensor result = hook(HookKind::kStreams, layer, streams);
  if (!result.is_same(streams)) stream_->replace_streams(result);
}

void ForwardPass::show_stream_weights(int layer) {
  if (num_streams(model_.config) == 0 || !stream_->records_stream_weights()) return;
  const std::vector<at::Tensor> weights = stream_->take_stream_weights();
  if (!wants(HookKind::kStreamWeights, layer)) return;
  const at::Tensor like = stream_->value();
  std::vector<at::Tensor> of_tokens;
  for (const at::Tensor& part : weights) {
    of_tokens.push_back(part.expand({like.size(0), like.size(1), -1, -1}));
  }
  show(HookKind::kStreamWeights, layer, at::cat(of_tokens, 2));
}

void ForwardPass::add_to_stream(const at::Tensor& output, const NormWeights& weights) {
  keep_source(output);
  stream_->add(output);
  const DecoderSpec& spec = model_.config.spec;
  if (spec.norm_placement != NormPlacement::kAfterSum) return;
  stream_->replace(apply_norm(stream_->value(), weights, spec.norm, model_.options.rms_norm_cast));
}

bool ForwardPass::has_input_norms() const {
  const NormPlacement placement = model_.config.spec.norm_placement;
  return placement == NormPlacement::kBefore || placement == NormPlacement::kBoth;
}

at::Tensor ForwardPass::finished(const at::Tensor& output, const NormWeights& weights) const {
  const DecoderSpec& spec = model_.config.spec;
  const bool has_norm =
      spec.norm_placement == NormPlacement::kAfter || spec.norm_placement == NormPlacement::kBoth;
  const at::Tensor x = has_norm ? norm(output, weights) : output;
  return spec.residual_multiplier == 1.0 ? x : x * spec.residual_multiplier;
}

bool ForwardPass::can_recompute(BranchFn function) const {
  if (!options_.recompute_blocks || workspace_ != nullptr || options_.hooks != nullptr) {
    return false;
  }
  if (function == &ForwardPass::mlp) return !balances_load();
  return !stream_->splits_inputs() && (routing_ == nullptr || routing_->can_replay());
}

at::Tensor ForwardPass::branch(BranchFn function, int layer, const at::Tensor& x) {
  if (!can_recompute(function)) return (this->*function)(layer, x);
  const at::Tensor value =
      value_of([&](const at::Tensor& leaf) { return (this->*function)(layer, leaf); }, x);
  if (replay_ == nullptr) {
    replay_ = std::make_shared<ForwardPass>(model_, ForwardOptions{}, nullptr);
    replay_->angles_ = angles_;
    replay_->routing_ = routing_ != nullptr ? routing_->replay() : nullptr;
  }
  const bool is_attention = function == &ForwardPass::self_attention;
  return recomputed(
      x, value, is_attention && routing_ != nullptr ? routing_->weights_in_graph() : at::Tensor(),
      [replay = replay_, function, layer](const at::Tensor& leaf) {
        return (replay.get()->*function)(layer, leaf);
      });
}

at::Tensor ForwardPass::final_norm(const at::Tensor& x) {
  const DecoderSpec& spec = model_.config.spec;
  const NormWeights& weights = model_.weights.final_norm;
  if (!spec.has_final_norm) return hook(HookKind::kFinalNormalized, 0, x);
  if (!wants(HookKind::kFinalNormalized, 0)) return norm(x, weights);
  const at::Tensor normalized =
      hook(HookKind::kFinalNormalized, 0, normalize(x, spec.norm, model_.options.rms_norm_cast));
  return apply_weights(normalized, weights, spec.norm, x.scalar_type());
}

at::Tensor ForwardPass::norm(const at::Tensor& x, const NormWeights& weights) const {
  at::Tensor out;
  if (in_place_ && weights.weight.defined() &&
      model_.config.spec.norm.kind != NormKind::kLayerNorm) {
    out = workspace_->get(Slot::kNormalized, x.sizes(), x.options());
  }
  return apply_norm(x, weights, model_.config.spec.norm, model_.options.rms_norm_cast, out);
}

at::Tensor ForwardPass::head_norm(Slot slot, const at::Tensor& x,
                                  const NormWeights& weights) const {
  if (!weights.weight.defined()) return x;
  const DecoderSpec& spec = model_.config.spec;
  const NormSpec& norm = spec.head_norm ? *spec.head_norm : spec.norm;
  if (spec.qk_norm == QkNorm::kEachHeadItsOwn) {
    const NormWeights by_head{weights.weight.view({x.size(2), x.size(3)}), {}};
    return apply_weights(normalize(x, norm, model_.options.rms_norm_cast), by_head, norm,
                         x.scalar_type());
  }
  at::Tensor out;
  const auto shaped = [&](const at::Tensor& y) {
    return spec.qk_norm == QkNorm::kPerHead ? y : y.flatten(2);
  };
  if (in_place_) out = shaped(workspace_->get(slot, x.sizes(), x.options()));
  return apply_norm(shaped(x), weights, norm, model_.options.rms_norm_cast, out).view_as(x);
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

at::Tensor ForwardPass::rotated(int layer, const at::Tensor& x) const {
  const LayerSpec& own = model_.config.spec.layer(layer);
  if (angles_.empty() || !own.rope) return x;
  const RotaryAngles& angles = angles_[*own.rope];
  if (!in_place_ || x.stride(-1) != 1) return rotate(x, angles);
  rotate_in_place(x, angles);
  return x;
}

bool ForwardPass::wants(HookKind kind, int layer) const {
  return options_.hooks != nullptr && options_.hooks->wants(kind, layer);
}

at::Tensor ForwardPass::hook(HookKind kind, int layer, const at::Tensor& activation) const {
  return wants(kind, layer) ? options_.hooks->run(kind, layer, activation) : activation;
}

void ForwardPass::show(HookKind kind, int layer, const at::Tensor& weights) const {
  if (hook(kind, layer, weights).is_same(weights)) return;
  throw InvalidArgument("hooks: '{}' can be read, not replaced", hook_name({kind, layer}));
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
