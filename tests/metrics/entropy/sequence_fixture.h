// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "metrics/entropy/entropy_calculator.h"
#include "metrics/rows.h"
#include "support/statistics.h"

namespace lime::testing {

/// Returns a source that copies from `sequences`, which must outlive it.
inline SequenceSource source_of(const std::vector<MatrixF>& sequences) {
  return {static_cast<std::int64_t>(sequences.size()),
          [&sequences](std::int64_t index, MatrixF& rows) {
            rows = sequences[static_cast<std::size_t>(index)];
          }};
}

/// Returns the standardization of all rows of all sequences.
inline Standardization standardization_of(const std::vector<MatrixF>& sequences) {
  Eigen::Index num_rows = 0;
  for (const MatrixF& sequence : sequences) num_rows += sequence.rows();
  MatrixF all(num_rows, sequences.front().cols());
  num_rows = 0;
  for (const MatrixF& sequence : sequences) {
    all.middleRows(num_rows, sequence.rows()) = sequence;
    num_rows += sequence.rows();
  }
  return make_standardization(statistics_of(all));
}

}  // namespace lime::testing
