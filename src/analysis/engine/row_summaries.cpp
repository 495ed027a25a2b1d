// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/row_summaries.h"

#include <map>
#include <utility>

namespace lime {
namespace {

void set_columns(ResultRow& row, const Summary& summary, bool is_difference) {
  if (is_difference) {
    row.add({{col::kDifference, summary.mean},
             {col::kDifferenceLow, summary.ci_low},
             {col::kDifferenceHigh, summary.ci_high}});
  } else {
    set_summary(row, summary);
  }
}

}  // namespace

void set_summary(ResultRow& row, const Summary& summary) {
  row.add({{col::kMean, summary.mean},
           {col::kStd, summary.std},
           {col::kCiLow, summary.ci_low},
           {col::kCiHigh, summary.ci_high},
           {col::kN, summary.n}});
}

void RowSummaries::add_mean(ResultRow& row, std::size_t place, std::vector<double> values) {
  set_columns(row, {}, false);
  entries_.push_back({place, false, std::move(values)});
}

void RowSummaries::add_difference(ResultRow& row, std::size_t place,
                                  const std::vector<double>& values,
                                  const std::vector<double>& reference) {
  set_columns(row, {}, true);
  Entry entry{place, true, {}};
  for (std::size_t i = 0; i < values.size(); ++i) {
    entry.values.push_back(values[i] - reference[i]);
  }
  entries_.push_back(std::move(entry));
}

void RowSummaries::fill(std::vector<ResultRow>& rows) const {
  std::map<std::size_t, std::vector<const Entry*>> by_size;
  for (const Entry& entry : entries_) by_size[entry.values.size()].push_back(&entry);
  for (const auto& [size, entries] : by_size) {
    std::vector<std::vector<double>> samples;
    for (const Entry* entry : entries) samples.push_back(entry->values);
    const std::vector<Summary> summaries = summarize_together(samples, options_);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      set_columns(rows[entries[i]->place], summaries[i], entries[i]->is_difference);
    }
  }
}

}  // namespace lime
