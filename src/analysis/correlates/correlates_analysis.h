// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "analysis/engine/analysis.h"

namespace lime {

struct CorrelatesOptions {
  std::vector<std::filesystem::path> results;  ///< JSON files of other metrics
  /// CSV file with the columns `label` (a model, as in the results), optionally `layer`, and one
  /// column of numbers per score.
  std::filesystem::path scores;

  void describe_inputs(OptionList& list);
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares rank correlations of every measurement in the results with every score.
///
/// If the scores have layers: `spearman` over the layers of each label and of all, and `partial`,
/// the same controlled for depth, because both may merely follow depth. Else `spearman` over the
/// labels in each layer.
/// @throws InvalidArgument  if fewer than 4 labels or layers of the scores are in the results.
/// @throws IoError, FormatError  as read_results(), or of a line of the CSV file.
Analysis prepare_correlates(const CorrelatesOptions& options, const RunOptions& run);

}  // namespace lime
