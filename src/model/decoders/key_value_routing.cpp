// SPDX-License-Identifier: Apache-2.0
#include "model/decoders/key_value_routing.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <map>

#include "checkpoint/router_layout.h"
#include "model/decoders/lime_router.h"
#include "model/kernels/depth_mixture.h"
#include "model/kernels/linear.h"
#include "model/kernels/parallel_tiles.h"

namespace lime {
namespace {

/// Values of Depth-Attention: before attention over the sequence, the query of a token attends to
/// its own keys of earlier layers and mixes their values; see mix_values().
///
///   v_l <- sum_i a_i v_i,   a = softmax_i(q_l . k_i / sqrt(head_dim)),   i in the sources and l
///
/// for the layers depth_attention_sources(), with queries and keys after their norms (the rotation
/// of one position does not change their products). Later layers read the mixed values, which the
/// cache stores. Source: Zeng et al. (2026), arXiv:2606.05014.
class DepthAttention final : public KeyValueRouting {
 public:
  DepthAttention(const ModelConfig& config, bool has_graph)
      : config_(config), has_graph_(has_graph) {}

  std::unique_ptr<KeyValueRouting> clone() const override {
    return std::make_unique<DepthAttention>(*this);
  }
  KeysAndValues mix(int layer, const KeysAndValues& own, const at::Tensor&,
                    const at::Tensor& queries) override {
    const auto kept = [&](const at::Tensor& x) {
      return has_graph_ ? x : x.clone(at::MemoryFormat::Contiguous);
    };
    std::vector<at::Tensor> keys;
    std::vector<at::Tensor> values;
    for (const std::int64_t source : depth_attention_sources(config_, layer)) {
      const KeysAndValues& read = source == layer ? own : layers_.at(source);
      keys.push_back(read.keys);
      values.push_back(read.values);
    }
    KeysAndValues mixed = own;
    weights_.reset();
    if (keys.size() > 1) {
      const DepthMixture mixture = mix_values(queries, keys, values);
      mixed.values = mixture.mixed;
      weights_ = mixture.weights;
    }
    bool is_read = false;
    for (std::int64_t later = layer + 1; later < config_.num_hidden_layers && !is_read; ++later) {
      const std::vector<std::int64_t> sources = depth_attention_sources(config_, later);
      is_read = std::find(sources.begin(), sources.end(), layer) != sources.end();
    }
    if (is_read) layers_[layer] = {kept(own.keys), kept(mixed.values)};
    return mixed;
  }

  bool reads_queries() const override { return true; }
  bool reads_mixed_values() const override { return true; }
  void replace_values(int layer, const at::Tensor& values) override {
    const auto kept = layers_.find(layer);
    if (kept != layers_.end()) kept->second.values = values;
  }

  at::Tensor weights(int layer, const at::Tensor& x) const override {
    const std::int64_t heads = config_.num_key_value_heads;
    at::Tensor all = at::zeros({x.size(0), x.size(1), heads, layer + 1}, x.options());
    if (!weights_.defined()) {
      all.select(3, layer).fill_(1.0);
      return all;
    }
    const std::vector<std::int64_t> sources = depth_attention_sources(config_, layer);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      all.select(3, sources[i]).copy_(weights_.select(3, static_cast<std::int64_t>(i)));
    }
    return all;
  }

  void cross(Crossing& crossing, int) override {
    for (auto& [layer, kept] : layers_) {
      kept = {crossing.carry(kept.keys), crossing.carry(kept.values)};
    }
  }

 private:
  const ModelConfig& config_;
  const bool has_graph_;
  std::map<std::int64_t, KeysAndValues> layers_;  // that a later layer may read
  at::Tensor weights_;                            // of the latest layer
};

/// Mixes the values of ResFormer and SVFormer.
///
///   ResFormer: v_l <- (v_0 + v_l) / 2,   SVFormer: v_l <- v_0,   for l >= 1
///
/// Source: Zhou et al. (2024), arXiv:2410.17897: the variant of its released code with both
/// coefficients fixed at 1/2 (modeling_llama_resformer.py); modeling_llama_svformer.py.
class ValueResidual final : public KeyValueRouting {
 public:
  ValueResidual(bool first_layer_only, Workspace* workspace)
      : first_layer_only_(first_layer_only), workspace_(workspace) {}

  std::unique_ptr<KeyValueRouting> clone() const override {
    return std::make_unique<ValueResidual>(*this);
  }
  KeysAndValues mix(int layer, const KeysAndValues& own, const at::Tensor&,
                    const at::Tensor&) override {
    if (layer == 0) {
      first_ = own.values;
      if (workspace_ == nullptr) return own;
      first_ = workspace_->get(Workspace::Slot::kBuffer, own.values.sizes(), own.values.options());
      copy_in_place(first_, own.values);
      return {own.keys, first_};
    }
    if (first_layer_only_) return own;
    if (workspace_ == nullptr) return {own.keys, (first_ + own.values) * 0.5};
    at::Tensor mixed =
        workspace_->get(Workspace::Slot::kRouted, own.values.sizes(), own.values.options());
    const auto mix_range = [&](std::int64_t begin, std::int64_t length) {
      at::Tensor part = mixed.narrow(1, begin, length);
      at::add_out(part, first_.narrow(1, begin, length), own.values.narrow(1, begin, length));
      part.mul_(0.5);
    };
    for_each_token_range(mixed, mix_range);
    return {own.keys, mixed};
  }

  at::Tensor weights(int layer, const at::Tensor& x) const override {
    at::Tensor all = at::zeros({x.size(0), x.size(1), first_.size(2), layer + 1}, x.options());
    all.select(3, 0).fill_(first_layer_only_ || layer == 0 ? 1.0 : 0.5);
    if (!first_layer_only_ && layer > 0) all.select(3, layer).fill_(0.5);
    return all;
  }

  void cross(Crossing& crossing, int) override { first_ = crossing.carry(first_); }
  at::Tensor shared_values() const override { return first_layer_only_ ? first_ : at::Tensor(); }

 private:
  const bool first_layer_only_;
  Workspace* const workspace_;
  at::Tensor first_;  // values of layer 0
};

}  // namespace

std::unique_ptr<KeyValueRouting> make_routing(const ModelConfig& config,
                                              const DecoderWeights& weights, Workspace* workspace) {
  if (config.routing == DepthRouting::kLime && config.lime.router != RouterKind::kNone) {
    return std::make_unique<LimeRouter>(config, weights, workspace);
  }
  if (config.routing == DepthRouting::kResFormer) {
    return std::make_unique<ValueResidual>(config.first_layer_values_only, workspace);
  }
  if (config.routing == DepthRouting::kDepthAttention) {
    return std::make_unique<DepthAttention>(config, workspace == nullptr);
  }
  return nullptr;
}

}  // namespace lime
