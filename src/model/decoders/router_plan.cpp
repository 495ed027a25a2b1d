// SPDX-License-Identifier: Apache-2.0
#include "model/decoders/router_plan.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "checkpoint/router_layout.h"

namespace lime {
namespace {

std::int64_t slot_of(const LimeConfig& config, std::int64_t layer, std::int64_t num_layers) {
  const std::int64_t j = config.j;
  switch (config.router) {
    case RouterKind::kLast:
      return layer % j;
    case RouterKind::kFirst:
      return std::min(layer, j);
    case RouterKind::kFirstAndPrevious:
      if (layer < j) return 1 + layer;
      return (layer - j) % 2 == 0 ? j + 1 : 0;
    case RouterKind::kDilated:
      return layer % j * ((num_layers + j - 1) / j) + layer / j;
    case RouterKind::kFull:
    case RouterKind::kAverage:
      return layer;
    case RouterKind::kNone:
      break;
  }
  return 0;
}

}  // namespace

std::vector<SlotRange> RouterPlan::slots_read_from(std::int64_t next_layer) const {
  const auto size = static_cast<std::size_t>(num_slots);
  std::vector<bool> is_written(size, false);  // only from next_layer on
  std::vector<bool> is_read(size, false);
  for (auto layer = static_cast<std::size_t>(next_layer); layer < layers.size(); ++layer) {
    const Layer& entry = layers[layer];
    is_written[static_cast<std::size_t>(entry.own_slot)] = true;
    for (std::int64_t slot = entry.first_slot; slot < entry.first_slot + entry.num_sources;
         ++slot) {
      const auto index = static_cast<std::size_t>(slot);
      if (!is_written[index]) is_read[index] = true;
    }
  }
  std::vector<SlotRange> ranges;
  for (std::int64_t slot = 0; slot < num_slots; ++slot) {
    if (!is_read[static_cast<std::size_t>(slot)]) continue;
    const bool goes_on = !ranges.empty() && ranges.back().first + ranges.back().count == slot;
    if (!goes_on) ranges.push_back({slot, 0});
    ++ranges.back().count;
  }
  return ranges;
}

RouterPlan plan_router(const LimeConfig& config, std::int64_t num_layers) {
  RouterPlan plan;
  for (std::int64_t layer = 0; layer < num_layers; ++layer) {
    const std::vector<std::int64_t> sources =
        layer == 0 ? std::vector<std::int64_t>{0} : router_sources(config, layer);
    std::vector<std::int64_t> slots;
    for (const std::int64_t source : sources) slots.push_back(slot_of(config, source, num_layers));

    RouterPlan::Layer& entry = plan.layers.emplace_back();
    entry.own_slot = slot_of(config, layer, num_layers);
    entry.num_sources = std::ssize(sources);
    entry.first_slot = *std::min_element(slots.begin(), slots.end());
    assert(*std::max_element(slots.begin(), slots.end()) ==
           entry.first_slot + entry.num_sources - 1);
    plan.num_slots = std::max(plan.num_slots, entry.own_slot + 1);
    if (std::is_sorted(slots.begin(), slots.end())) continue;
    entry.order.resize(sources.size());
    std::iota(entry.order.begin(), entry.order.end(), 0);
    std::sort(entry.order.begin(), entry.order.end(), [&](std::int64_t a, std::int64_t b) {
      return slots[static_cast<std::size_t>(a)] < slots[static_cast<std::size_t>(b)];
    });
  }
  return plan;
}

}  // namespace lime
