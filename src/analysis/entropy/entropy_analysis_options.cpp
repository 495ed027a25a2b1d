// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy/entropy_analysis_options.h"

#include "core/errors.h"
#include "metrics/device/gpu.h"

namespace lime {
void EntropyAnalysisOptions::describe(OptionList& list) {
  captures.describe(list);
  list.add("max_sequences", max_sequences, "use only the first N sequences of each capture");
  list.group("Entropy");
  entropy.describe(list);
  list.group("Interval");
  list.add("bootstrap", summary.resamples,
           "bootstrap resamples for the interval of the mean, 100 to 10000000; 0: no interval");
  list.add("confidence", summary.confidence, "confidence level of the interval, in (0, 1)");
  list.group("Running");
  list.add("device", device, "device for Gram matrices and eigenvalues: cpu, cuda or cuda:N");
}

void EntropyAnalysisOptions::validate() const {
  captures.validate();
  entropy.validate();
  summary.validate("bootstrap");
  if (max_sequences && *max_sequences < 1) {
    throw InvalidArgument("max_sequences: must be > 0, got {}", *max_sequences);
  }
  if (DeviceName::parse(device).is_gpu && entropy.top_k) {
    throw InvalidArgument(
        "top_k: is supported on the CPU only, got device '{}'; omit --top-k or --device", device);
  }
  if (entropy.preset == EntropyPreset::kDiffErank && captures.captures.size() != 2) {
    throw InvalidArgument(
        "diff-erank: expected two captures of the same text, the untrained model first, then the "
        "trained one, got {}",
        captures.captures.size());
  }
}

}  // namespace lime
