// SPDX-License-Identifier: Apache-2.0
#include "model/gauge/gauge.h"

#include <c10/core/GradMode.h>
#include <fmt/ranges.h>

#include <vector>

#include "model/gauge/gauge_list.h"

namespace lime {

std::span<const Gauge* const> all_gauges() {
  static constexpr const Gauge* kAll[] = {
      &kValueScale,       &kValueRotation,    &kQueryKeyScale,       &kHeadPermutation,
      &kUnitScale,        &kUnitPermutation,  &kExpertPermutation,   &kNormFold,
      &kNormScale,        &kResidualRotation, &kResidualPermutation, &kRouteScale,
      &kStreamPermutation};
  return kAll;
}

const Gauge& find_gauge(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Gauge* gauge : all_gauges()) {
    if (gauge->name == name) return *gauge;
    names.push_back(gauge->name);
  }
  throw InvalidArgument(OptionName("transform"), "expected one of {}, got '{}'",
                        fmt::join(names, ", "), name);
}

void GaugeRequest::validate() const {
  const Gauge& gauge = find_gauge(transform);
  if (!strength) return;
  throw_if(!gauge.has_strength, OptionName("strength"), "'{}' has no strength; omit it",
           gauge.name);
  check_option(*strength > 0.0 && *strength <= kMaxGaugeStrength, "strength",
               fmt::format("> 0 and at most {}", kMaxGaugeStrength), *strength);
}

void apply_gauge(const GaugeRequest& request, GaugeWeights& weights) {
  request.validate();
  const Gauge& gauge = find_gauge(request.transform);
  const std::string refusal = gauge.refusal(weights.config());
  throw_if(!refusal.empty(), OptionName("transform"), "'{}' is not exact for a '{}': {}",
           gauge.name, weights.config().name(), refusal);
  const at::NoGradGuard no_grad;
  GaugeDraws draws(request.seed, request.strength.value_or(1.0));
  gauge.apply(weights, draws);
}

}  // namespace lime
