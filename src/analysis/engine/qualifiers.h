// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "store/results/result_row.h"

namespace lime {

/// Returns the cells of a row that tell measurements of one quantity from each other: order and
/// preset of an entropy, weighting of a router, what the mean is over unless it is sequences, ...
ResultRow qualifying_cells(const ResultRow& row);
/// Returns them as the end of a name: ", alpha 0.5, raw".
std::string qualifiers_of(const ResultRow& row);

}  // namespace lime
