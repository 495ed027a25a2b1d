// SPDX-License-Identifier: Apache-2.0
// Attention of ForwardPass: projections, routing, scores, and what heads write.
#include "model/kernels/differentiable.h"
#include "model/passes/forward_pass.h"
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

}  // namespace lime
