// SPDX-License-Identifier: Apache-2.0
#include "model/decoders/lime_router.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "checkpoint/router_layout.h"
#include "model/kernels/linear.h"
#include "model/kernels/parallel_tiles.h"
#include "model/kernels/sent_to.h"
#include "model/kernels/source_mixture.h"

namespace lime {
namespace {

std::int64_t slot_of(const LimeConfig& config, std::int64_t layer, std::int64_t num_layers) {
  const std::int64_t j = config.j;
  switch (config.router) {
    case RouterKind::kLast: return layer % j;
    case RouterKind::kFirst: return std::min(layer, j);
    case RouterKind::kFirstAndPrevious:
      if (layer < j) return 1 + layer;
      return (layer - j) % 2 == 0 ? j + 1 : 0;
    case RouterKind::kDilated: return layer % j * ((num_layers + j - 1) / j) + layer / j;
    case RouterKind::kFull:
    case RouterKind::kAverage: return layer;
    case RouterKind::kNone: break;
  }
  return 0;
}

/// Returns the number of buffered heads of one source that a routed head reads.
std::int64_t mixed_heads(const ModelConfig& config) {
  return config.lime.head_mixing && config.lime.router != RouterKind::kAverage
             ? config.num_key_value_heads
             : 1;
}

std::int64_t weighted_dims(const ModelConfig& config) {
  return config.lime.per_dimension ? config.head_dim : 1;
}

}  // namespace

std::vector<SlotRange> RouterPlan::slots_read_from(std::int64_t next_layer) const {
  const auto size = static_cast<std::size_t>(num_slots);
  std::vector<bool> is_written(size, false);  // only from next_layer on
  std::vector<bool> is_read(size, false);
  for (auto layer = static_cast<std::size_t>(next_layer); layer < layers.size(); ++layer) {
    const Layer& entry = layers[layer];
    is_written[entry.own_slot] = true;
    for (std::int64_t slot = entry.first_slot; slot < entry.first_slot + entry.num_sources;
         ++slot) {
      const auto index = static_cast<std::size_t>(slot);
      if (!is_written[index]) is_read[index] = true;
    }
  }
  std::vector<SlotRange> ranges;
  for (std::int64_t slot = 0; slot < num_slots; ++slot) {
    if (!is_read[slot]) continue;
    const bool is_next = !ranges.empty() && ranges.back().first + ranges.back().count == slot;
    if (!is_next) ranges.push_back({slot, 0});
    ++ranges.back().count;
  }
  return ranges;
}

RouterPlan plan_router(const LimeConfig& config, std::int64_t num_layers) {
  RouterPlan plan;
  for (std::int64_t layer = 0; layer < num_layers; ++layer) {
    const std::vector<std::int64_t> sources = router_sources(config, layer);
    std::vector<std::int64_t> slots;
    for (const std::int64_t source : sources) slots.push_back(slot_of(config, source, num_layers));

    RouterPlan::Layer& entry = plan.layers.emplace_back();
    entry.own_slot = slot_of(config, layer, num_layers);
    entry.num_sources = std::ssize(sources);
    entry.first_slot = *std::ranges::min_element(slots);
    assert(*std::ranges::max_element(slots) == entry.first_slot + entry.num_sources - 1);
    plan.num_slots = std::max(plan.num_slots, entry.own_slot + 1);
    if (std::ranges::is_sorted(slots)) continue;
    entry.order.resize(sources.size());
    std::iota(entry.order.begin(), entry.order.end(), 0);
    std::ranges::sort(entry.order,
                      [&](std::int64_t a, std::int64_t b) { return slots[a] < slots[b]; });
  }
  return plan;
}

LimeRouter::LimeRouter(const ModelConfig& config, const DecoderWeights& weights,
                       Workspace* workspace)
    : config_(config),
      weights_(weights),
      workspace_(workspace),
      plan_(plan_router(config.lime, config.num_hidden_layers)) {}

KeysAndValues LimeRouter::mix(int layer, const KeysAndValues& own, const at::Tensor& x,
                              const at::Tensor&) {
  if (tape_ == nullptr && layer == 0 && workspace_ == nullptr && RouterTape::can_route(config_)) {
    tape_ = std::make_shared<RouterTape>(config_, weights_);
    weights_in_graph_ = tape_->weights_in_graph(weights_);
  }
  if (tape_ != nullptr) return tape_->mix(layer, own, weights_in_graph_);
  append(layer, own);
  if (layer == 0) return own;
  return views_of(workspace_ != nullptr ? route(layer, x) : route_with_gradients(layer, x),
                  own.keys);
}

at::Tensor LimeRouter::weights(int layer, const at::Tensor& x) const {
  const std::int64_t heads = config_.num_key_value_heads;
  const std::int64_t tokens = x.size(0) * x.size(1);
  const at::Tensor all = at::zeros({tokens, heads, layer + 1, heads}, x.options());
  const at::Tensor own = at::eye(heads, x.options());
  if (layer == 0) {
    all.select(2, 0).copy_(own);
  } else {
    const at::NoGradGuard no_grad;
    const RouterMixture read = mixture(layer, x, /*by_slot=*/false);
    // [tokens or 1, heads, sources, mixed], the mean over dimensions.
    at::Tensor weights =
        read.is_dynamic ? read.weights.transpose(0, 1) : read.weights.mean(3).unsqueeze(0);
    if (weights.size(3) == 1) weights = weights * own.view({1, heads, 1, heads});
    const std::vector<std::int64_t> sources = router_sources(config_.lime, layer);
    for (std::int64_t i = 0; i < std::ssize(sources); ++i) {
      all.select(2, sources[i]).copy_(weights.select(2, i));
    }
  }
  return all.view({x.size(0), x.size(1), heads, (layer + 1) * heads});
}

void LimeRouter::cross(Crossing& crossing, int next_layer) {
  if (!memory_.defined()) return;
  const at::Tensor memory = crossing.place_for(memory_);
  for (const SlotRange& slots : plan_.slots_read_from(next_layer)) {
    crossing.carry_into(memory.narrow(0, slots.first, slots.count),
                        memory_.narrow(0, slots.first, slots.count));
  }
  memory_ = memory;
}

bool LimeRouter::can_replay() const {
  return workspace_ == nullptr && RouterTape::can_route(config_);
}

std::unique_ptr<KeyValueRouting> LimeRouter::replay() const {
  if (tape_ == nullptr) return nullptr;
  auto routing = std::make_unique<LimeRouter>(config_, weights_, nullptr);
  routing->tape_ = tape_;
  return routing;
}

void LimeRouter::append(int layer, const KeysAndValues& own) {
  const at::Tensor& k = own.keys;
  const std::int64_t heads = k.size(2);
  const std::int64_t tokens = k.size(0) * k.size(1);
  const std::int64_t dim = k.size(3);
  if (workspace_ == nullptr) {
    layers_.push_back(at::stack({k, own.values}, 3)
                          .permute({2, 0, 1, 3, 4})
                          .contiguous()
                          .view({heads, tokens, 2, dim}));
    return;
  }
  if (!memory_.defined()) {
    memory_ = workspace_->get(Workspace::Slot::kBuffer, {plan_.num_slots, heads, tokens, 2, dim},
                              k.options());
  }
  const KeysAndValues place = views_of(memory_.select(0, plan_.layers[layer].own_slot), k);
  copy_in_place(place.keys, k);
  copy_in_place(place.values, own.values);
}

at::Tensor LimeRouter::static_weights(int layer) const {
  const LayerWeights& weights = weights_.layers[layer];
  const std::int64_t heads = config_.num_key_value_heads;
  const std::int64_t sources = plan_.layers[layer].num_sources;
  if (config_.lime.router == RouterKind::kAverage) {
    return at::full({heads, sources, 1, 1}, 1.0 / static_cast<double>(sources),
                    weights.o.weight.options().requires_grad(false));
  }
  return weights.router.weights.view(
      {heads, sources, mixed_heads(config_), weighted_dims(config_)});
}

at::Tensor LimeRouter::dynamic_weights(int layer, const at::Tensor& x) const {
  const LimeRouterWeights& weights = weights_.layers[layer].router;
  const std::int64_t heads = config_.num_key_value_heads;
  const std::int64_t tokens = x.size(0) * x.size(1);
  const std::int64_t dim = config_.head_dim;
  const LinearWeights to_queries{weights.q, {}};
  const LinearWeights to_scores{weights.keys, {}};
  const at::Tensor queries = linear_with_gradients(x, {&to_queries})[0].view({tokens * heads, dim});
  const at::Tensor scores =
      linear_with_gradients(queries, {&to_scores})[0] / std::sqrt(static_cast<double>(dim));
  return at::softmax(scores, -1).view({tokens, heads, -1, mixed_heads(config_)}).transpose(0, 1);
}

RouterMixture LimeRouter::mixture(int layer, const at::Tensor& x, bool by_slot) const {
  RouterMixture mixture;
  mixture.is_dynamic = config_.lime.dynamic;
  mixture.weights = mixture.is_dynamic ? dynamic_weights(layer, x) : static_weights(layer);
  const RouterPlan::Layer& plan = plan_.layers[layer];
  if (by_slot && !plan.order.empty()) {
    const at::Tensor order =
        sent_to(mixture.weights.device(), at::tensor(plan.order, at::TensorOptions(at::kLong)));
    mixture.weights = mixture.weights.index_select(mixture.is_dynamic ? 2 : 1, order);
  }
  return mixture;
}

at::Tensor LimeRouter::route(int layer, const at::Tensor& x) {
  const RouterPlan::Layer& plan = plan_.layers[layer];
  const at::Tensor buffered = memory_.narrow(0, plan.first_slot, plan.num_sources);
  at::Tensor routed =
      workspace_->get(Workspace::Slot::kRouted, buffered.sizes().slice(1), buffered.options());
  mix_sources_out(routed, mixture(layer, x, /*by_slot=*/true), buffered);
  return routed;
}

at::Tensor LimeRouter::route_with_gradients(int layer, const at::Tensor& x) const {
  std::vector<at::Tensor> blocks;
  for (const std::int64_t source : router_sources(config_.lime, layer)) {
    blocks.push_back(layers_[source]);
  }
  return mix_blocks(blocks, mixture(layer, x, /*by_slot=*/false));
}

void initialize_router(const at::Tensor& router, const ModelConfig& config, Random& random) {
  const std::int64_t heads = router.size(0);
  const std::int64_t dims = weighted_dims(config);
  const std::int64_t mixed = mixed_heads(config);
  const std::int64_t fan_in = router.size(1) / dims;
  const double bound = config.lime.initializer_scale * std::sqrt(3.0 / static_cast<double>(fan_in));
  double* weight = router.data_ptr<double>();
  for (std::int64_t row = 0; row < heads; ++row) {
    for (std::int64_t column = 0; column < fan_in * dims; ++column, ++weight) {
      const double drawn = random.uniform(-bound, bound);
      const std::int64_t own = column / dims - (fan_in - mixed);
      const bool is_same_head = mixed == 1 || own == row;
      *weight = own < 0 ? drawn : (is_same_head ? 1.0 : 0.0);
    }
  }
}

}  // namespace lime
