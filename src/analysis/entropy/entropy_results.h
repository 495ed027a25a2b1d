// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/engine/analysis.h"
#include "analysis/entropy/entropy_analysis.h"
#include "metrics/entropy/sequence_entropies.h"

namespace lime {

/// Returns one row per order of entropy, with the sequences' entropies as samples.
UnitResult entropy_result(const SequenceEntropies& entropies,
                          const EntropyAnalysisOptions& options);

/// Adds a row per order for one matrix with a row ("mean" or "last" token) per sequence.
void add_dataset_rows(const SequenceEntropies& entropies, std::string_view kind,
                      const EntropyAnalysisOptions& options, UnitResult& result);

/// Returns the rows of Diff-eRank: the untrained minus the trained capture, sequence by sequence.
/// @param keys  of the units, in the order of `results`.
/// @throws InvalidArgument  if they have no site and layer in common.
std::vector<ResultRow> entropy_differences(const std::string& untrained, const std::string& trained,
                                           const std::vector<ResultRow>& keys,
                                           std::span<const UnitResult> results,
                                           const EntropyAnalysisOptions& options);

void fill_entropy_report(Report& report, const std::vector<ChosenCapture>& captures,
                         const EntropyAnalysisOptions& options);

}  // namespace lime
