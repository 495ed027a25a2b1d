// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/lens/lens_analysis.h"
#include "core/matrix.h"
#include "metrics/summary.h"

namespace lime {

/// Number of measures of a sequence: the stored ones and the accuracy.
inline constexpr std::int64_t kNumLensMeasures = 6;

/// Measures of sequences, averaged over tokens.
struct LensItems {
  std::vector<std::vector<double>> values;  ///< [measures][sequences]

  explicit LensItems(std::int64_t count);

  /// @param all  the stored measures of the tokens that have a next one, [tokens, measures]; those
  ///              with rank 0 were not computed (--lens-tokens)
  /// @throws InvalidArgument  if there are none
  void set(std::int64_t index, const MatrixD& all);
};

/// Returns one row per measure, with the values of the sequences as samples.
UnitResult lens_result(LensItems items, const SummaryOptions& summary);

/// @param inputs  a line about the sequences of each input.
void fill_lens_report(Report& report, const std::vector<std::string>& inputs,
                      const SummaryOptions& summary);

}  // namespace lime
