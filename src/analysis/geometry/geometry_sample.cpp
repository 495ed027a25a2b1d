// SPDX-License-Identifier: Apache-2.0
#include "analysis/geometry/geometry_sample.h"

#include <algorithm>
#include <span>

namespace lime {

MatrixF RowsToKeep::pick(const MatrixF& kept, const std::vector<std::int64_t>& wanted) const {
  MatrixF rows(static_cast<Eigen::Index>(wanted.size()), kept.cols());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto place = std::lower_bound(all.begin(), all.end(), wanted[i]) - all.begin();
    rows.row(static_cast<Eigen::Index>(i)) = kept.row(place);
  }
  return rows;
}

RowsToKeep rows_to_keep(const CaptureReader& capture, std::int64_t num_rows,
                        const GeometryAnalysisOptions& options, std::uint64_t seed) {
  RowsToKeep keep;
  if (options.wants(GeometryGroup::kDimension)) {
    keep.neighbors = draw_rows(num_rows, options.neighbor_rows, seed);
  }
  if (options.wants(GeometryGroup::kLidar)) {
    const std::span tokens(capture.rows().token.data(), static_cast<std::size_t>(num_rows));
    keep.classes =
        draw_token_classes(tokens, options.token_classes.size, options.token_classes.count, seed);
  }
  keep.all = keep.neighbors;
  keep.all.insert(keep.all.end(), keep.classes.rows.begin(), keep.classes.rows.end());
  std::sort(keep.all.begin(), keep.all.end());
  keep.all.erase(std::unique(keep.all.begin(), keep.all.end()), keep.all.end());
  return keep;
}

}  // namespace lime
