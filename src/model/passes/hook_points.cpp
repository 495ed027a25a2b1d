// SPDX-License-Identifier: Apache-2.0
#include "model/passes/hook_points.h"

#include <fmt/format.h>

#include "checkpoint/model_config.h"
#include "checkpoint/router_layout.h"

namespace lime {
namespace {

constexpr std::array<HookSite, 3> kSites = {{{"values", HookKind::kV},
                                             {"routed_values", HookKind::kRoutedV},
                                             {"hidden", HookKind::kResidPost}}};

}  // namespace

bool has_hook(const ModelConfig& config, const HookPoint& point) {
  const bool has_experts = config.spec.experts_of(point.layer) != nullptr;
  switch (point.kind) {
    case HookKind::kRouterLogits:
    case HookKind::kExpertWeights:
    case HookKind::kExpertIndices: return has_experts;
    case HookKind::kMlpPre:
    case HookKind::kMlpPost: return !has_experts;
    case HookKind::kStreams:
    case HookKind::kStreamWeights: return num_streams(config) > 0;
    case HookKind::kMlpPreLinear: return !has_experts && config.spec.gated_mlp;
    default: return true;
  }
}

std::string hook_name(const HookPoint& point) {
  const std::string_view name = hook_kind_info(point.kind).name;
  const std::size_t place = name.find("{}");
  if (place == std::string_view::npos) return std::string(name);
  return fmt::format("{}{}{}", name.substr(0, place), point.layer, name.substr(place + 2));
}

std::span<const HookSite> hook_sites() { return kSites; }

}  // namespace lime
