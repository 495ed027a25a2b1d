// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/options.h"

namespace lime {

/// How the learning rate goes down after the warm-up.
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
  /// Steps in which the learning rate rises linearly to its peak, >= 0.
  std::int64_t warmup_steps = 100;
  /// Share of the peak that is left at the end, in [0, 1].
  double final_learning_rate = 0.0;

  void describe(OptionList& list);
  /// @throws InvalidArgument  that names the first field out of range.
  void validate() const;
};

/// The learning rate of a step as a share of its peak.
///
///   step < warmup:  (step + 1) / warmup
///   else with t = (step - warmup) / (total - warmup) and the share f left at the end:
///     linear  1 - (1 - f) t,    cosine  f + (1 - f) (1 + cos(pi t)) / 2
///
/// @param step   from 0 to total_steps - 1.
/// @return in (0, 1]; the end of the decay lies one step behind the last, so that none is wasted.
double learning_rate_share(const ScheduleOptions& options, std::int64_t step,
                           std::int64_t total_steps);

}  // namespace lime
