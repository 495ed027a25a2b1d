// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "store/results/columns.h"
#include "store/results/result_row.h"

namespace lime {

/// A measurement in a row of results, with the ends of its interval; NaN if it has none.
struct Measurement {
  std::string name;  ///< "entropy, alpha 0.5, raw"
  double value = 0.0;
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = low;
};

/// Returns the finite measurements in a row about a layer or a whole model: its mean, else every
/// number that is no option. Empty for rows of comparisons and single heads.
std::vector<Measurement> measurements_of(const ResultRow& row, const std::string& metric);

}  // namespace lime
