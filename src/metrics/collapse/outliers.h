// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>
#include <vector>

#include "metrics/collapse/layer_causes.h"
#include "metrics/collapse/row_cache.h"

namespace lime {

/// Massive tokens and outlier dimensions of a layer.
struct Outliers {
  std::vector<double> squared_norm;  ///< of each row, [num_rows]
  double median_norm = 0.0;          ///< lower median
  std::vector<bool> is_massive;      ///< [num_rows]
  std::vector<int> dimensions;       ///< the largest share first
};

/// Finds them: rows of at least `massive_ratio` times the median norm, of the rows themselves or of
/// their distance from the mean of the others, with and without outlier dimensions; dimensions of
/// at least `dimension_ratio` times the median root mean square or standard deviation of the other
/// rows. Reads the rows five times.
/// @throws InvalidArgument  if all rows are zero. @throws Interrupted
Outliers find_outliers(RowCache& rows, const CollapseOptions& options, const std::stop_token& stop);

}  // namespace lime
