// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/row_summaries.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/options.h"
#include "store/results/columns.h"

namespace lime {
namespace {

void set_columns(ResultRow& row, const Summary& summary, bool is_difference) {
  if (is_difference) {
    row.add({{col::kDifference, summary.mean},
             {col::kDifference.low, summary.ci_low},
             {col::kDifference.high, summary.ci_high}});
  } else {
    set_summary(row, summary);
  }
}

}  // namespace

std::string interval_legend(const SummaryOptions& options) {
  if (options.resamples == 0) return "";
  return fmt::format(", [{:g}% bootstrap interval of the mean]", options.confidence * 100.0);
}

void check_jackknife(std::int64_t blocks) {
  check_option(blocks == 0 || blocks >= kFewestBlocks, "jackknife",
               fmt::format(">= {}, or 0 for none", kFewestBlocks), blocks);
}

std::optional<Jackknife> jackknife_of_defined(double all, const std::vector<double>& without,
                                              double confidence) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (without.empty() || !is_finite(all) || !std::ranges::all_of(without, is_finite)) {
    return std::nullopt;
  }
  return jackknife(all, without, confidence);
}

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
  for (std::size_t i = 0; i < values.size(); ++i) entry.values.push_back(values[i] - reference[i]);
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
