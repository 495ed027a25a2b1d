// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/comparison_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/results_file.h"

namespace lime {
namespace {

/// "values, alpha 0.5, entropy": the columns that name a row, from `kind` to the first value.
std::string name_of(const Json& row, std::string_view first_value) {
  static constexpr std::array<std::string_view, 4> kElsewhere = {"kind", "label", "baseline",
                                                                 "layer"};
  static constexpr std::array<std::string_view, 3> kWords = {"site", "quantity", "task"};
  const auto is_one_of = [](const auto& columns, const std::string& column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  std::string name;
  for (const auto& [column, value] : row.items()) {
    if (column == first_value) break;
    // Metrics of many quantities have one more column with the same content.
    const bool says_quantity = column != "quantity" && value == row.at("quantity");
    if (says_quantity || is_one_of(kElsewhere, column)) continue;
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    name += name.empty() ? "" : ", ";
    name += is_one_of(kWords, column) ? text : fmt::format("{} {}", column, text);
  }
  return name;
}

TableColumn interval_column(std::string header, std::string low, std::string high, int digits) {
  const auto cell = [low, high, digits](const Json& row) -> std::string {
    if (!row.contains(low) || std::isnan(results_number(row, low))) return "";
    return fmt::format("[{:.{}f}, {:.{}f}]", results_number(row, low), digits,
                       results_number(row, high), digits);
  };
  return {.header = std::move(header), .cell = cell};
}

/// Returns a column of p-values with two significant digits.
TableColumn p_column(std::string header, std::string key) {
  const auto cell = [key](const Json& row) -> std::string {
    const double p = results_number(row, key);
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

std::string layer_cell(const Json& row) {
  return row.contains("layer") ? text_cell("layer")(row) : "mean";
}

ReportSection comparison_section(const CompareOptions& options, int digits) {
  ReportSection section;
  section.kind = "comparison";
  section.notes = {
      fmt::format("differences of the means, [{:g} % paired bootstrap interval], two-sided "
                  "sign-flip p-value, Holm-corrected p-value over the layers",
                  options.confidence * 100.0)};
  section.columns = {{.header = "layer", .cell = layer_cell},
                     {.header = "baseline", .cell = number_cell("baseline_mean", digits)},
                     {.header = "mean", .cell = number_cell("mean", digits)},
                     {.header = "difference", .cell = number_cell("difference", digits)},
                     interval_column("interval", "ci_low", "ci_high", digits),
                     p_column("p", "p"),
                     p_column("p (Holm)", "p_holm")};
  section.heading = [](const Json& row) {
    return fmt::format("{} - {}: {} ({} {}{})", row.at("label").get<std::string>(),
                       row.at("baseline").get<std::string>(), name_of(row, "baseline_mean"),
                       row.at("n").dump(), row.at("items").get<std::string>(),
                       smallest_p(row.at("n").get<std::int64_t>()));
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
  section.columns = {{.header = "model", .cell = text_cell("label"), .to_the_right = false},
                     {.header = "mean", .cell = number_cell("mean", digits)},
                     {.header = "std", .cell = number_cell("std", digits)},
                     interval_column("over layers", "ci_low", "ci_high", digits),
                     interval_column("over items", "items_ci_low", "items_ci_high", digits),
                     {.header = "layers", .cell = text_cell("layers")},
                     {.header = "items", .cell = text_cell("n")}};
  section.heading = [](const Json& row) { return name_of(row, "mean"); };
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
