// SPDX-License-Identifier: Apache-2.0
#include "metrics/comparison/resampling.h"

#include "core/errors.h"

namespace lime {

void check_resamples(const SummaryOptions& options) {
  throw_if(options.resamples < SummaryOptions::kFewestResamples,
           "resamples: must be >= 100, got {}", options.resamples);
  options.validate();
}

}  // namespace lime
