// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/geometry/geometry_options.h"
#include "core/matrix.h"
#include "store/capture_reader.h"

namespace lime {

/// Draws `count` of the numbers below `total` without replacement, ascending; all if there are no
/// more. Depends on total, count and seed only, so that captures of one text get the same rows.
std::vector<std::int64_t> draw_rows(std::int64_t total, std::int64_t count, std::uint64_t seed);

/// Rows of tokens that occur often: `size` occurrences of each, one token after the other.
struct TokenClasses {
  std::vector<std::int64_t> rows;  ///< [num_classes * size]
  std::int64_t num_classes = 0;
};

/// Draws the classes of LiDAR among the first `num_rows` rows.
/// @throws InvalidArgument  if fewer than 2 tokens occur often enough.
TokenClasses draw_token_classes(const CaptureReader& capture, std::int64_t num_rows,
                                const TokenClassOptions& options, std::uint64_t seed);

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
