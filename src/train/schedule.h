// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/options.h"

namespace lime {

enum class ScheduleKind { kConstant, kLinear, kCosine, kWarmupStableDecay };

constexpr auto names_of(ScheduleKind) {
  using enum ScheduleKind;
  return enum_table<ScheduleKind>({{kConstant, "constant"},
                                   {kLinear, "linear"},
                                   {kCosine, "cosine"},
                                   {kWarmupStableDecay, "wsd"}});
}

/// describe() explains the fields of the options.
struct ScheduleOptions {
  ScheduleKind schedule = ScheduleKind::kLinear;
  std::int64_t warmup_steps = 100;
  double decay_fraction = 0.2;  ///< of wsd, in (0, 1]
  double final_learning_rate = 0.0;

  void describe(OptionList& list);
  void validate() const;
};

/// Returns the learning rate of a step as a fraction of its peak.
///
///   step < warmup:  (step + 1) / warmup
///   else with t = (step - warmup) / (total - warmup) and the final fraction f:
///     linear  1 - (1 - f) t,    cosine  f + (1 - f) (1 + cos(pi t)) / 2
///     wsd     1 until total (1 - d), then linear to f (Hu et al. 2024, arXiv:2404.06395)
///
/// @param step   from 0 to total_steps - 1.
/// @return in (0, 1]; the decay ends one step after the last, so that no step has rate 0.
double learning_rate_fraction(const ScheduleOptions& options, std::int64_t step,
                              std::int64_t total_steps);

}  // namespace lime
