// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace lime {
namespace {

/// "values, alpha 0.5, entropy": the columns that name a row, from `kind` to the first value.
std::string name_of(const ResultRow& row, const Column& first_value) {
  constexpr std::array<Column, 4> kElsewhere = {col::kKind, col::kLabel, col::kBaseline,
                                                col::kLayer};
  constexpr std::array<Column, 3> kWords = {col::kSite, col::kQuantity, col::kTask};
  const auto is_one_of = [](const auto& columns, const Column& column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  std::string name;
  for (const auto& [key, value] : row.json().items()) {
    const Column column{key};
    if (column == first_value) break;
    // Metrics of many quantities have one more column with the same content.
    const bool says_quantity = column != col::kQuantity && value == row.cell(col::kQuantity);
    if (says_quantity || is_one_of(kElsewhere, column)) continue;
    name += name.empty() ? "" : ", ";
    name += (is_one_of(kWords, column) ? "" : key + " ") + cell_text(value);
  }
  return name;
}

TableColumn interval_column(std::string header, const Column& low, const Column& high, int digits) {
  const auto cell = [low, high, digits](const ResultRow& row) -> std::string {
    if (!row.has(low) || std::isnan(row.number(low))) return "";
    return fmt::format("[{:.{}f}, {:.{}f}]", row.number(low), digits, row.number(high), digits);
  };
  return {.header = std::move(header), .cell = cell};
}

/// Returns a column of p-values with two significant digits.
TableColumn p_column(std::string header, const Column& column) {
  const auto cell = [column](const ResultRow& row) -> std::string {
    const double p = row.number(column);
    return p < 0.001 ? fmt::format("{:.1e}", p) : fmt::format("{:.3f}", p);
  };
  return {.header = std::move(header), .cell = cell};
}

/// Returns a note on the smallest possible p-value of few items: all signs equal, of 2^n sign
/// flips.
std::string smallest_p(std::int64_t n) {
  const double smallest = std::exp2(1.0 - static_cast<double>(n));
  return smallest < 0.01 ? "" : fmt::format(": smallest possible p-value {:.3f}", smallest);
}

ReportSection comparison_section(const CompareOptions& options, int digits) {
  ReportSection section;
  section.kind = "comparison";
  section.notes = {
      fmt::format("differences of the means, [{:g} % paired bootstrap interval], two-sided "
                  "sign-flip p-value, Holm-corrected p-value over the layers",
                  options.confidence * 100.0)};
  section.columns = {table_column(col::kLayer),
                     number_column(col::kBaselineMean, digits, "baseline"),
                     number_column(col::kMean, digits),
                     number_column(col::kDifference, digits),
                     interval_column("interval", col::kCiLow, col::kCiHigh, digits),
                     p_column("p", col::kP),
                     p_column("p (Holm)", col::kPHolm)};
  section.columns.front().cell = [](const ResultRow& row) {
    return row.has(col::kLayer) ? row.shown(col::kLayer) : "mean";
  };
  section.heading = [](const ResultRow& row) {
    return fmt::format("{} - {}: {} ({} {}{})", row.text(col::kLabel), row.text(col::kBaseline),
                       name_of(row, col::kBaselineMean), row.integer(col::kN),
                       row.text(col::kItems), smallest_p(row.integer(col::kN)));
  };
  return section;
}

ReportSection layer_mean_section(const CompareOptions& options, int digits) {
  ReportSection section;
  section.kind = "layer_mean";
  section.notes = {
      fmt::format("mean and standard deviation over the layers, {:g} % bootstrap intervals of the "
                  "mean: over layers, and over items with the layers fixed",
                  options.confidence * 100.0)};
  section.columns = {table_column(col::kLabel, "model"),
                     number_column(col::kMean, digits),
                     number_column(col::kStd, digits),
                     interval_column("over layers", col::kCiLow, col::kCiHigh, digits),
                     interval_column("over items", col::kItemsCiLow, col::kItemsCiHigh, digits),
                     table_column(col::kLayers),
                     table_column(col::kN, "items")};
  section.heading = [](const ResultRow& row) { return name_of(row, col::kMean); };
  return section;
}

}  // namespace

void add_sample_sections(Report& report, const CompareOptions& options) {
  const int digits = report.layout.digits;
  if (options.summary == SummaryOver::kLayers) {
    report.shows_main = false;
    report.sections.push_back(layer_mean_section(options, digits));
  }
  if (options.compare != ComparePairs::kNone) {
    report.sections.push_back(comparison_section(options, digits));
  }
}

}  // namespace lime
