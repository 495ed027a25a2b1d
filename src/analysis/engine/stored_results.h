// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "store/results_file.h"

// What is read out of the rows of results: their measurements, and the differences of two.

namespace lime {

/// A measurement in a row of results, with the ends of its interval; NaN if it has none.
struct StoredValue {
  std::string name;      ///< "entropy, alpha 0.5, raw"
  std::string quantity;  ///< "entropy"
  double value = 0.0;
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = low;
};

/// Returns the finite measurements in a row about a layer or a whole model: its mean, else every
/// number that is no option. Empty for rows of comparisons and single heads.
std::vector<StoredValue> stored_values_of(const ResultRow& row, const std::string& metric);

/// Difference of one column of two results.
struct ColumnDifference {
  std::string column;
  std::int64_t values = 0;
  std::int64_t different = 0;  ///< beyond the tolerance
  double largest = 0.0;        ///< of |after - before| over numbers; infinite beside NaN or a text
  std::string where;           ///< the row of the largest: "LIMe, values, layer 3"
  ResultCell before;           ///< its value in both; empty where nothing differs
  ResultCell after;
};

/// Value-by-value difference of the rows of two results.
struct ResultsDifference {
  /// Why the rows cannot be set against each other (number, columns); empty: they can.
  std::string mismatch;
  std::vector<ColumnDifference> columns;  ///< in the order of the columns

  std::int64_t num_values() const;
  std::int64_t num_different() const;
  bool same() const { return mismatch.empty() && num_different() == 0; }
};

/// Compares the rows of two results in their order.
/// @param tolerance  relative difference, >= 0, up to which numbers count as equal; 0: bitwise.
/// @throws InvalidArgument  if the tolerance is negative or not finite.
ResultsDifference compare_results(const Results& before, const Results& after,
                                  double tolerance = 0.0);

}  // namespace lime
