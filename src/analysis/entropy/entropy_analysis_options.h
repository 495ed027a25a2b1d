// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/engine/capture_set.h"
#include "metrics/entropy/entropy_options.h"
#include "metrics/summary.h"

namespace lime {

/// Selects the captures and sequences, the entropy, and the intervals of its mean.
struct EntropyAnalysisOptions {
  CaptureSetOptions captures;
  EntropyOptions entropy;
  SummaryOptions summary;
  /// Only the first sequences of each capture, > 0; unset: all. The statistics that lime-code
  /// standardises with stay those of the whole capture, as in the LIMe code.
  std::optional<std::int64_t> max_sequences;
  /// Device of Gram matrices and eigenvalues: cpu, cuda or cuda:N. Results are equal up to
  /// rounding, so it is stored with the options.
  std::string device = "cpu";

  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  /// @throws InvalidArgument  also if diff-erank gets other than two captures.
  void validate() const;
};

}  // namespace lime
