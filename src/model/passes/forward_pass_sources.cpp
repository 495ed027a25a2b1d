// SPDX-License-Identifier: Apache-2.0
// Weights over depth: what a layer reads of earlier ones, and replacements of these weights.
#include <algorithm>

#include "checkpoint/router_layout.h"
#include "model/passes/forward_pass.h"

namespace lime {
namespace {

constexpr HookKind kDepthParts[] = {HookKind::kAttnDepthWeights, HookKind::kMlpDepthWeights,
                                    HookKind::kFinalDepthWeights};

/// Returns true if a weight changes for some token; always in a pass with gradients.
bool changes(const at::Tensor& weight) {
  return weight.requires_grad() || weight.ne(0).any().item<bool>();
}

/// Returns x + sum_s change[..., s] * sources[s].
/// @param change  [batch, seq, sources], 0 for sources that do not exist yet
at::Tensor with_sources(const at::Tensor& x, const at::Tensor& change,
                        const std::vector<at::Tensor>& sources) {
  at::Tensor sum = x;
  const std::int64_t count = std::min(change.size(2), std::ssize(sources));
  for (std::int64_t s = 0; s < count; ++s) {
    const at::Tensor weight = change.narrow(2, s, 1);
    if (changes(weight)) sum = sum + weight * sources[static_cast<std::size_t>(s)];
  }
  return sum;
}

}  // namespace

bool ForwardPass::edits_sources() const {
  if (options_.hooks == nullptr) return false;
  for (int layer = 0; layer < model_.config.num_hidden_layers; ++layer) {
    const auto edits = [&](HookKind kind) { return options_.hooks->edits(kind, layer); };
    if (edits(HookKind::kRoute) || std::ranges::any_of(kDepthParts, edits)) return true;
  }
  return false;
}

void ForwardPass::begin_sources() {
  keeps_sources_ = options_.keeps_sources || edits_sources();
  bool is_traced = keeps_sources_;
  for (int layer = 0; layer < model_.config.num_hidden_layers; ++layer) {
    const auto is_read = [&](HookKind kind) { return wants(kind, layer); };
    is_traced =
        is_traced || is_read(HookKind::kDepthWeights) || std::ranges::any_of(kDepthParts, is_read);
  }
  if (!is_traced) return;
  stream_->trace_sources(2 * model_.config.num_hidden_layers + 1,
                         model_.weights.embedding.options());
}

void ForwardPass::check_sources() const {
  throw_if(!keeps_sources_ && edits_sources(),
           "decoder: a fork can edit weights over depth only if its pass began with keeps_sources");
}

at::Tensor ForwardPass::kept(const at::Tensor& x) const {
  return in_place_ ? x.clone(at::MemoryFormat::Contiguous) : x;
}

void ForwardPass::keep_source(const at::Tensor& output) {
  if (keeps_sources_) sources_.push_back(kept(output));
}

at::Tensor ForwardPass::edited_input(int layer, Branch branch, const at::Tensor& x) {
  const bool is_attention = branch == Branch::kAttention;
  const HookKind kind = is_attention ? HookKind::kAttnDepthWeights : HookKind::kMlpDepthWeights;
  if (is_attention) edited_inputs_ = {};
  if (!wants(kind, layer)) return x;
  const ModelConfig& config = model_.config;
  const std::int64_t sources = num_depth_sources(config, layer);
  // Attention reads once or, for queries, keys and values, three times; then the MLP reads.
  const auto parallel = static_cast<std::size_t>(config.spec.parallel_residual ? 1 : 0);
  std::vector<at::Tensor>& traces = stream_->traces();
  const std::size_t attention = is_attention ? traces.size() - parallel : traces.size() - 1;
  const std::size_t first = is_attention ? 0 : attention;
  const std::size_t count = is_attention ? attention : 1;
  std::vector<at::Tensor> reads;
  for (std::size_t i = first; i < first + count; ++i) {
    reads.push_back(traces[i].detach().expand({x.size(0), x.size(1), -1}).narrow(2, 0, sources));
  }
  const at::Tensor weights = at::stack(reads, 2);
  const at::Tensor edited = hook(kind, layer, weights);
  if (edited.is_same(weights)) return x;
  const at::Tensor change = edited - weights;
  for (std::size_t i = 0; i < count; ++i) {
    traces[first + i] = edited.detach().select(2, static_cast<std::int64_t>(i));
  }
  if (count > 1) {
    ResidualStream::KeyValueInputs inputs = stream_->key_value_inputs();
    if (!inputs.keys.defined()) inputs = {x, x};
    edited_inputs_ = {with_sources(inputs.keys, change.select(2, 1), sources_),
                      with_sources(inputs.values, change.select(2, 2), sources_)};
  }
  return with_sources(x, change.select(2, 0), sources_);
}

at::Tensor ForwardPass::edited_final_trace() {
  const at::Tensor value = stream_->value();
  const std::int64_t sources =
      num_depth_sources(model_.config, model_.config.num_hidden_layers - 1);
  const at::Tensor trace = stream_->value_trace()
                               .detach()
                               .expand({value.size(0), value.size(1), -1})
                               .narrow(2, 0, sources);
  const at::Tensor weights = trace.unsqueeze(2);
  const at::Tensor edited = hook(HookKind::kFinalDepthWeights, 0, weights);
  if (edited.is_same(weights)) return trace;
  final_input_ = with_sources(value, (edited - weights).select(2, 0), sources_);
  return edited.detach().select(2, 0);
}

void ForwardPass::show_depth_weights(int layer) {
  const ModelConfig& config = model_.config;
  std::vector<at::Tensor> traces = stream_->take_traces();
  if (layer + 1 == config.num_hidden_layers) traces.push_back(edited_final_trace());
  if (!wants(HookKind::kDepthWeights, layer)) return;
  const at::Tensor like = stream_->value();
  for (at::Tensor& trace : traces) {
    trace = trace.expand({like.size(0), like.size(1), -1})
                .narrow(2, 0, num_depth_sources(config, layer));
  }
  show(HookKind::kDepthWeights, layer, at::stack(traces, 2));
}

KeysAndValues ForwardPass::edited_route(int layer, const KeysAndValues& read,
                                        const at::Tensor& normalized) {
  at::Tensor weights;
  if (routing_ != nullptr) {
    weights = routing_->weights(layer, normalized).detach();
  } else {
    weights = at::zeros({normalized.size(0), normalized.size(1), read.values.size(2), layer + 1},
                        normalized.options());
    weights.select(3, layer).fill_(1.0);
  }
  const at::Tensor edited = hook(HookKind::kRoute, layer, weights);
  if (edited.is_same(weights)) return read;
  const at::Tensor change = edited - weights;
  const std::int64_t heads = change.size(3) / (layer + 1);  // per source, 1 if heads are not mixed
  const bool routes_keys = routing_ == nullptr || routing_->routes_keys();
  KeysAndValues mixed = read;
  for (std::int64_t i = 0; i < change.size(3); ++i) {
    const at::Tensor weight = change.narrow(3, i, 1);
    if (!changes(weight)) continue;
    const KeysAndValues& source = key_value_sources_[static_cast<std::size_t>(i / heads)];
    const auto head = [&](const at::Tensor& x) {
      return heads == 1 ? x : x.narrow(2, i % heads, 1);
    };
    mixed.values = mixed.values + weight * head(source.values);
    if (routes_keys) mixed.keys = mixed.keys + weight * head(source.keys);
  }
  mixed = {mixed.keys.contiguous(), mixed.values.contiguous()};
  if (routing_ != nullptr) routing_->replace_values(layer, mixed.values);
  return mixed;
}

}  // namespace lime
