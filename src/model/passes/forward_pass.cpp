// SPDX-License-Identifier: Apache-2.0
#include "model/passes/forward_pass.h"

#include "checkpoint/router_layout.h"
#include "model/decoders/stage_plan.h"
#include "model/kernels/differentiable.h"
#include "model/kernels/row_sums.h"
#include "model/passes/output_head.h"
#include "model/passes/prefix_tree.h"

namespace lime {

using Slot = Workspace::Slot;

namespace {

/// Applies to each head its part of an output projection.
/// @param heads   [batch, seq, num_heads, head_dim]
/// @param weight  W_O, [hidden, num_heads * head_dim]
/// @return [batch, seq, num_heads, hidden]
at::Tensor project_each_head(const at::Tensor& heads, const at::Tensor& weight) {
  const std::int64_t dim = heads.size(3);
  std::vector<at::Tensor> results;
  for (std::int64_t head = 0; head < heads.size(2); ++head) {
    results.push_back(apply_linear(heads.select(2, head).contiguous(),
                                   weight.narrow(1, head * dim, dim).contiguous()));
  }
  return at::stack(results, 2);
}

}  // namespace

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

at::Tensor ForwardPass::self_attention(int layer, const at::Tensor& x) {
  const LayerWeights& weights = model_.weights.layers[layer];
  const std::int64_t dim = model_.config.head_dim;
  const auto by_head = [&](const at::Tensor& projection) {
    return projection.unflatten(-1, {projection.size(-1) / dim, dim});
  };
  const bool has_values = weights.v.weight.defined();
  const at::Tensor normalized = has_input_norms() ? norm(x, weights.input_norm) : x;
  std::vector<at::Tensor> projections = project_attention(layer, normalized);
  clip(projections);
  const at::Tensor q = hook_owned(HookKind::kQ, layer, by_head(projections[0]));
  const at::Tensor v = has_values ? by_head(projections[2]) : routing_->shared_values();
  KeysAndValues read{hook_owned(HookKind::kK, layer, by_head(projections[1])),
                     hook(HookKind::kV, layer, v)};
  if (keeps_sources_) key_value_sources_.push_back({kept(read.keys), kept(read.values)});
  if (routing_ != nullptr) read = mixed(layer, q, read, normalized);
  if (wants(HookKind::kRoute, layer)) read = edited_route(layer, read, normalized);
  if (keeps_sources_ && routing_ != nullptr && routing_->reads_mixed_values()) {
    key_value_sources_.back().values = kept(read.values);
  }
  read.keys = hook_owned(HookKind::kRoutedK, layer, read.keys);
  read.values = hook(HookKind::kRoutedV, layer, read.values);
  const at::Tensor z = hook(HookKind::kZ, layer, attend(layer, q, read));
  show_results(layer, read.values, z);
  return finished(project(Slot::kOutput, z.flatten(2), weights.o), weights.attention_norm);
}

void ForwardPass::show_results(int layer, const at::Tensor& values, const at::Tensor& z) const {
  const at::Tensor& weight = model_.weights.layers[layer].o.weight;
  if (wants(HookKind::kValueResult, layer)) {
    const std::int64_t group = z.size(2) / values.size(2);
    show(HookKind::kValueResult, layer,
         project_each_head(values.repeat_interleave(group, 2), weight));
  }
  if (wants(HookKind::kResult, layer)) {
    show(HookKind::kResult, layer, project_each_head(z, weight));
  }
}

std::vector<at::Tensor> ForwardPass::project_attention(int layer,
                                                       const at::Tensor& normalized) const {
  const LayerWeights& weights = model_.weights.layers[layer];
  const ResidualStream::KeyValueInputs others =
      edited_inputs_.keys.defined() ? edited_inputs_ : stream_->key_value_inputs();
  if (!others.keys.defined()) {
    std::vector<const LinearWeights*> parts = {&weights.q, &weights.k};
    if (weights.v.weight.defined()) parts.push_back(&weights.v);
    return project_parts(Slot::kProjections, normalized, weights.qkv, parts);
  }
  const auto product = [&](const at::Tensor& input, const LinearWeights& part) {
    if (workspace_ == nullptr) return linear_with_gradients(input, {&part})[0];
    return apply_linear(input, part.weight, part.bias);
  };
  // Each norm overwrites the result of the one before it.
  std::vector<at::Tensor> projections = {product(normalized, weights.q)};
  const auto input = [&](const at::Tensor& x, const NormWeights& own) {
    return norm(x, own.weight.defined() ? own : weights.input_norm);
  };
  projections.push_back(product(input(others.keys, weights.key_input_norm), weights.k));
  projections.push_back(product(input(others.values, weights.value_input_norm), weights.v));
  return projections;
}

void ForwardPass::clip(std::vector<at::Tensor>& projections) const {
  const DecoderSpec& spec = model_.config.spec;
  if (!spec.qkv_clip) return;
  for (std::size_t i = 0; i < projections.size(); ++i) {
    const bool is_value = i == 2;
    if (spec.clips_after_norm && !is_value) continue;
    projections[i] = projections[i].clamp(-*spec.qkv_clip, *spec.qkv_clip);
  }
}

KeysAndValues ForwardPass::mixed(int layer, const at::Tensor& q, const KeysAndValues& own,
                                 const at::Tensor& normalized) {
  if (!routing_->reads_queries()) return routing_->mix(layer, own, normalized, q);
  const LayerWeights& weights = model_.weights.layers[layer];
  const KeysAndValues read{head_norm(Slot::kKeyNorm, own.keys, weights.k_norm), own.values};
  return {own.keys,
          routing_->mix(layer, read, normalized, head_norm(Slot::kQueryNorm, q, weights.q_norm))
              .values};
}

at::Tensor ForwardPass::attend(int layer, const at::Tensor& q, const KeysAndValues& read) {
  const DecoderSpec& spec = model_.config.spec;
  const LayerSpec& own = spec.layer(layer);
  const LayerWeights& weights = model_.weights.layers[layer];
  const auto input_of_scores = [&](Slot slot, const at::Tensor& x, const NormWeights& norm) {
    if (spec.rotates_before_norm) return head_norm(slot, rotated(layer, x), norm);
    at::Tensor normalized = head_norm(slot, x, norm);
    if (spec.qkv_clip && spec.clips_after_norm) {
      normalized = normalized.clamp(-*spec.qkv_clip, *spec.qkv_clip);
    }
    return rotated(layer, normalized);
  };
  const at::Tensor queries = input_of_scores(Slot::kQueryNorm, q, weights.q_norm);
  const at::Tensor keys = input_of_scores(Slot::kKeyNorm, read.keys, weights.k_norm);
  AttentionInput input{.q = hook(HookKind::kRotQ, layer, queries),
                       .k = hook(HookKind::kRotK, layer, keys),
                       .v = read.values,
                       .window = own.window,
                       .padding = options_.padding,
                       .scale = own.attention_scale,
                       .softcap = spec.attention_softcap,
                       .sinks = weights.sinks};
  if (options_.cache != nullptr) {
    const int holder = first_layer_on_device_;
    const bool shares =
        layer > holder && routing_ != nullptr && input.v.is_same(routing_->shared_values());
    std::tie(input.k, input.v) = options_.cache->append(layer, input.k, input.v, shares, holder);
  }
  if (options_.tree != nullptr) {
    throw_if(wants(HookKind::kAttnScores, layer) || wants(HookKind::kPattern, layer) ||
                 wants(HookKind::kAttnProfile, layer),
             "decoder: a tree of sequences has no attention pattern; run each sequence alone");
    return attend_in_tree(input);
  }
  if (wants(HookKind::kAttnScores, layer) || wants(HookKind::kPattern, layer)) {
    return attention_with_pattern(
        input, [&](const at::Tensor& scores) { return hook(HookKind::kAttnScores, layer, scores); },
        [&](const at::Tensor& pattern) {
          const at::Tensor used = hook(HookKind::kPattern, layer, pattern);
          if (wants(HookKind::kAttnProfile, layer)) {
            show(HookKind::kAttnProfile, layer, attention_profile_of(used));
          }
          return used;
        });
  }
  at::Tensor out = attention_memory(input.q);
  if (!wants(HookKind::kAttnProfile, layer)) return attention(input, out);
  at::Tensor profile;
  out = attention(input, out, &profile);
  show(HookKind::kAttnProfile, layer, profile);
  return out;
}

at::Tensor ForwardPass::attention_memory(const at::Tensor& q) const {
  return in_place_ ? workspace_->get(Slot::kAttention, q.sizes(), q.options()) : at::Tensor();
}

at::Tensor ForwardPass::attend_in_tree(const AttentionInput& input) const {
  at::Tensor out = attention_memory(input.q);
  if (!out.defined()) out = at::empty(input.q.sizes(), input.q.options());
  AttentionInput part = input;
  for (const PrefixTree::Segment& segment : options_.tree->segments()) {
    const auto own = [&](const at::Tensor& x) {
      return x.narrow(1, segment.first_row, segment.length);
    };
    part.q = own(input.q);
    part.k = options_.tree->with_ancestors(input.k, segment);
    part.v = options_.tree->with_ancestors(input.v, segment);
    const at::Tensor to = own(out);
    const at::Tensor z = attention(part, to);
    if (z.data_ptr() != to.data_ptr()) to.copy_(z);
  }
  return out;
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
