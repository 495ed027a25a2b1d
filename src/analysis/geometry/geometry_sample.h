// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/geometry/geometry_options.h"
#include "core/matrix.h"
#include "metrics/geometry/row_draws.h"
#include "store/capture_reader.h"

namespace lime {

/// Rows that one pass keeps for measures that cannot be accumulated.
struct RowsToKeep {
  std::vector<std::int64_t> neighbors;  ///< ascending; empty if not asked for
  TokenClasses classes;                 ///< likewise
  std::vector<std::int64_t> all;        ///< both, ascending, without repetition

  /// Returns the rows `wanted` of `kept`, which contains the rows `all` in order.
  MatrixF pick(const MatrixF& kept, const std::vector<std::int64_t>& wanted) const;
};

RowsToKeep rows_to_keep(const CaptureReader& capture, std::int64_t num_rows,
                        const GeometryAnalysisOptions& options, std::uint64_t seed);

}  // namespace lime
