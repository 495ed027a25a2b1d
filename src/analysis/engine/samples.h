// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "store/results/result_row.h"

namespace lime {

/// Values of one quantity per item (sequence, fold, pair), for paired comparisons of captures.
struct Samples {
  /// Key that distinguishes these samples from others of the unit, e.g. {"alpha": 0.5}. Its fields
  /// become columns of the comparison rows.
  ResultRow key = {};
  std::string quantity;  ///< compared quantity, e.g. "entropy", "accuracy"
  std::string items;     ///< name of the items in the plural: "sequences", "folds"
  /// Identifies the items and their order, e.g. sequences_identity(). Captures are compared only if
  /// it is equal in both. Empty: that of the unit.
  std::string identity = {};
  std::vector<double> values = {};  ///< finite, one per item; the comparison is of their means
};

}  // namespace lime
