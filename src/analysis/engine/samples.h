// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace lime {

/// One quantity item by item (per sequence, fold, pair), so that captures can be compared in it.
struct Samples {
  /// What tells it from the other samples of its unit, e.g. {"alpha": 0.5}; columns of the rows of
  /// the comparison.
  Json key = Json::object();
  std::string quantity;  ///< what is compared, e.g. "entropy", "accuracy"
  std::string items;     ///< what the values belong to, in the plural: "sequences", "folds"
  /// Tells what the items are, in their order, e.g. sequences_identity(): captures are compared
  /// where it is the same text in both. Empty: that of the unit.
  std::string identity = {};
  std::vector<double> values = {};  ///< finite, one per item; their mean is what is compared
};

}  // namespace lime
