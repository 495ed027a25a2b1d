// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/entropy/entropy_analysis.h"
#include "core/matrix.h"
#include "core/threads/thread_pool.h"
#include "metrics/entropy/sequence_entropies.h"

namespace lime {

/// One row per sequence of a layer, collected while its sequences are read.
struct DatasetRows {
  RowKind kind;
  EntropyPreset preset;
  MatrixF rows;  ///< [num_sequences, dim]

  DatasetRows(RowKind pooled, EntropyPreset used, std::int64_t count, std::int64_t dim);

  /// Sets the row of a sequence. @throws InvalidArgument  as pooled_token()
  void add(std::int64_t index, const MatrixF& sequence);
  /// Returns their entropies as of one sequence, standardised with its own statistics.
  SequenceEntropies measure(EntropyOptions options, ThreadPool& pool) const;
};

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

/// @param inputs  a line about the sequences of each input.
void fill_entropy_report(Report& report, const std::vector<std::string>& inputs,
                         const EntropyAnalysisOptions& options);

}  // namespace lime
