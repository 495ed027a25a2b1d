// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "metrics/summary.h"
#include "store/results/columns.h"

namespace lime {

/// Sets the columns mean, std, ci_low, ci_high and n of `row`.
void set_summary(ResultRow& row, const Summary& summary);

/// Fills mean, deviation and interval of many rows at once: resampling samples of one size together
/// costs little more than one of them (summarize_together()).
///
/// While rows are made, each registers its sample and gets its columns, empty; fill() computes
/// them.
class RowSummaries {
 public:
  explicit RowSummaries(const SummaryOptions& options) : options_(options) {}

  /// Adds the columns mean, std, ci_low, ci_high and n to `row`, which will be rows[place] of
  /// fill().
  void add_mean(ResultRow& row, std::size_t place, std::vector<double> values);
  /// Adds difference, difference_low and difference_high of the paired values minus `reference`.
  void add_difference(ResultRow& row, std::size_t place, const std::vector<double>& values,
                      const std::vector<double>& reference);
  /// @throws InvalidArgument  as summarize().
  void fill(std::vector<ResultRow>& rows) const;

 private:
  struct Entry {
    std::size_t place = 0;
    bool is_difference = false;
    std::vector<double> values;
  };

  SummaryOptions options_;
  std::vector<Entry> entries_;
};

}  // namespace lime
