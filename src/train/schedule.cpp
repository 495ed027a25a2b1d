// SPDX-License-Identifier: Apache-2.0
#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/errors.h"

namespace lime {

void ScheduleOptions::describe(OptionList& list) {
  list.add("schedule", schedule, "learning rate decay after the warm-up");
  list.add("warmup_steps", warmup_steps, "steps over which the learning rate rises to its peak");
  list.add("decay_fraction", decay_fraction,
           "schedule wsd (warmup-stable-decay): fraction of the steps that decay at the end, above "
           "0 and at most 1");
  list.add("final_learning_rate", final_learning_rate,
           "final learning rate as a fraction of the peak, from 0 to 1");
}

void ScheduleOptions::validate() const {
  check_option(warmup_steps >= 0, "warmup_steps", ">= 0", warmup_steps);
  check_option(final_learning_rate >= 0.0 && final_learning_rate <= 1.0, "final_learning_rate",
               "from 0 to 1", final_learning_rate);
  throw_if(!(decay_fraction > 0.0 && decay_fraction <= 1.0), OptionName("decay_fraction"),
           "must be above 0 and at most 1, got {}", decay_fraction);
}

double learning_rate_fraction(const ScheduleOptions& options, std::int64_t step,
                              std::int64_t total_steps) {
  const std::int64_t warmup = options.warmup_steps;
  if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double progress =
      std::min(1.0, static_cast<double>(step - warmup) /
                        static_cast<double>(std::max<std::int64_t>(total_steps - warmup, 1)));
  const double left = options.final_learning_rate;
  switch (options.schedule) {
    case ScheduleKind::kConstant: return 1.0;
    case ScheduleKind::kLinear: return 1.0 - (1.0 - left) * progress;
    case ScheduleKind::kCosine:
      return left + (1.0 - left) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    case ScheduleKind::kWarmupStableDecay: {
      const double decay = options.decay_fraction * static_cast<double>(total_steps);
      const double into = static_cast<double>(step - total_steps) + decay;
      return into <= 0.0 ? 1.0 : 1.0 - (1.0 - left) * std::min(1.0, into / decay);
    }
  }
  return 1.0;
}

}  // namespace lime
