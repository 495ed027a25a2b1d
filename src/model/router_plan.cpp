// SPDX-License-Identifier: Apache-2.0
#include "model/router_plan.h"

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
