// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metrics/jackknife.h"
#include "metrics/summary.h"
#include "store/results/result_row.h"

namespace lime {

/// Returns ", [95% bootstrap interval of the mean]" for a legend; empty without intervals.
std::string interval_legend(const SummaryOptions& options);

/// Checks the number of blocks of the option `jackknife`. @throws InvalidArgument
void check_jackknife(std::int64_t blocks);

/// Returns jackknife(); empty if there are no blocks, or if a value is undefined (not finite).
std::optional<Jackknife> jackknife_of_defined(double all, const std::vector<double>& without,
                                              double confidence);

void set_summary(ResultRow& row, const Summary& summary);

/// Summarises many rows at once with summarize_together(). While rows are made, each registers its
/// sample and gets its columns, empty; fill() computes them.
class RowSummaries {
 public:
  explicit RowSummaries(const SummaryOptions& options) : options_(options) {}

  /// Adds mean, std, ci_low, ci_high and n to `row`, which will be rows[place] of fill().
  void add_mean(ResultRow& row, std::size_t place, std::vector<double> values);
  /// Adds difference, difference_low and difference_high of the paired values minus `reference`.
  void add_difference(ResultRow& row, std::size_t place, const std::vector<double>& values,
                      const std::vector<double>& reference);
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
