// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "store/capture_info.h"

namespace lime::testing {

/// A capture of minimal pairs, one row per sentence, good and bad alternating, task by task.
struct PairCapture {
  struct Task {
    std::string name;
    std::string field;
    std::string term;
    int num_pairs = 0;
  };
  std::vector<Task> tasks;
  std::vector<MatrixF> layers;  ///< of the site "hidden", [sentences, dim]; may be empty
  RowKind rows = RowKind::kMean;
  std::string preset;          ///< with scores: "lm-eval" or "blimp-paper"
  std::vector<double> scores;  ///< [sentences] log-likelihoods; empty: none
  /// Indices of sentences that are written without label and pair.
  std::vector<std::size_t> lost;

  std::size_t num_sentences() const;
};

/// Writes `capture` to `path` in the format of `lime-capture --pairs`.
void write_pairs(const std::filesystem::path& path, const PairCapture& capture);

/// Returns three tasks of two terms and two fields (one with two spellings), 12, 10 and 10 pairs;
/// two layers of dim 4. In layer 1 the first dimension separates good from bad in the first task.
PairCapture example_pairs(std::uint64_t seed = 0);

}  // namespace lime::testing
