// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/options.h"

namespace lime {

/// Decay of the learning rate after the warm-up.
enum class ScheduleKind { kConstant, kLinear, kCosine };

template <>
struct EnumNames<ScheduleKind> {
  static constexpr std::array<std::pair<ScheduleKind, std::string_view>, 3> kNames = {
      {{ScheduleKind::kConstant, "constant"},
       {ScheduleKind::kLinear, "linear"},
       {ScheduleKind::kCosine, "cosine"}}};
};

struct ScheduleOptions {
  ScheduleKind schedule = ScheduleKind::kLinear;
  /// Steps of linear warm-up to the peak learning rate, >= 0.
  std::int64_t warmup_steps = 100;
  /// Learning rate at the end as a fraction of the peak, in [0, 1].
  double final_learning_rate = 0.0;

  void describe(OptionList& list);
  /// @throws InvalidArgument  naming the first field out of range.
  void validate() const;
};

/// Returns the learning rate of a step as a fraction of its peak.
///
///   step < warmup:  (step + 1) / warmup
///   else with t = (step - warmup) / (total - warmup) and the final fraction f:
///     linear  1 - (1 - f) t,    cosine  f + (1 - f) (1 + cos(pi t)) / 2
///
/// @param step   from 0 to total_steps - 1.
/// @return in (0, 1]; the decay ends one step after the last, so that no step has rate 0.
double learning_rate_fraction(const ScheduleOptions& options, std::int64_t step,
                              std::int64_t total_steps);

}  // namespace lime
