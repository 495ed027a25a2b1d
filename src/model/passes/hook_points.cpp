// SPDX-License-Identifier: Apache-2.0
#include "model/passes/hook_points.h"

#include <fmt/format.h>

#include <array>

namespace lime {
namespace {

constexpr std::array<HookSite, 3> kSites = {{{"values", HookKind::kV},
                                             {"routed_values", HookKind::kRoutedV},
                                             {"hidden", HookKind::kResidPost}}};

}  // namespace

std::string hook_name(const HookPoint& point) {
  const std::string_view name = hook_kind_info(point.kind).name;
  const std::size_t place = name.find("{}");
  if (place == std::string_view::npos) return std::string(name);
  return fmt::format("{}{}{}", name.substr(0, place), point.layer, name.substr(place + 2));
}

std::span<const HookSite> hook_sites() { return kSites; }

}  // namespace lime
