// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "metrics/entropy/gpu_entropies.h"
#include "metrics/random_matrix.h"
#include "support/statistics.h"

namespace lime::testing {

/// Returns sequences of the given lengths, with columns of decreasing size.
inline std::vector<MatrixF> sequences_of(const std::vector<Eigen::Index>& lengths,
                                         Eigen::Index dim) {
  std::vector<MatrixF> sequences;
  for (const Eigen::Index length : lengths) {
    sequences.emplace_back(
        random_matrix(length, dim, static_cast<std::uint64_t>(sequences.size()), 0.5)
            .cast<float>());
  }
  return sequences;
}

inline Standardization standardization_of(const std::vector<MatrixF>& sequences) {
  Eigen::Index rows = 0;
  for (const MatrixF& sequence : sequences) rows += sequence.rows();
  MatrixF all(rows, sequences.front().cols());
  rows = 0;
  for (const MatrixF& sequence : sequences) {
    all.middleRows(rows, sequence.rows()) = sequence;
    rows += sequence.rows();
  }
  return make_standardization(testing::statistics_of(all));
}

inline SizedSequences sized(const std::vector<MatrixF>& sequences) {
  SizedSequences result;
  for (const MatrixF& sequence : sequences) result.num_tokens.push_back(sequence.rows());
  result.dim = sequences.front().cols();
  result.read = [&sequences](std::int64_t index, std::span<float> rows) {
    const MatrixF& sequence = sequences[static_cast<std::size_t>(index)];
    std::copy_n(sequence.data(), sequence.size(), rows.begin());
  };
  return result;
}

inline SequenceExtent extent_of(const std::vector<MatrixF>& sequences) {
  const SizedSequences all = sized(sequences);
  SequenceExtent extent;
  extent.include(all.num_tokens, all.dim);
  return extent;
}

/// Returns the pinned memory for batches of at most `batch` sequences.
inline std::int64_t staging_for(const std::vector<MatrixF>& sequences, std::int64_t batch) {
  return batch * GpuEntropies::least_staging_bytes(extent_of(sequences));
}

}  // namespace lime::testing
