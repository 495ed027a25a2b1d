// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/comparison_report.h"

#include <cmath>

namespace lime {
namespace {

/// "values, alpha 0.5, entropy": the columns that name a row, from `kind` to the first value.
std::string name_of(const ResultRow& row, const Column& first_value) {
  constexpr std::array<Column, 4> kElsewhere = {col::kKind, col::kLabel, col::kBaseline,
                                                col::kLayer};
  constexpr std::array<Column, 3> kWords = {col::kSite, col::kQuantity, col::kTask};
  const auto is_one_of = [](const auto& columns, const Column& column) {
    return std::ranges::find(columns, column) != columns.end();
  };
  std::string name;
  for (const auto& [key, value] : row.cells()) {
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
  const auto cell = [low, high, digits](const ResultRow& row) -> TableCell {
    if (!row.has(low)) return "";
    return IntervalCell{row.number(low), row.number(high), digits};
  };
  return {.header = std::move(header), .cell = cell};
}

/// Returns a note on the smallest possible p-value of few items: all of 2^n sign flips equal.
std::string smallest_p(std::int64_t n) {
  const double smallest = std::exp2(1.0 - static_cast<double>(n));
  return smallest < 0.01 ? "" : fmt::format(": smallest possible p-value {:.3f}", smallest);
}

/// @param percent  confidence level of the intervals
ReportSection comparison_section(double percent, int digits) {
  TableColumn layer = table_column(col::kLayer);
  layer.cell = [](const ResultRow& row) {
    return row.has(col::kLayer) ? row.shown(col::kLayer) : "mean";
  };
  return {
      .kind = "comparison",
      .notes = {fmt::format("differences of the means, [{:g}% paired bootstrap interval], "
                            "two-sided sign-flip p-value, Holm-corrected p-value over the layers",
                            percent),
                "each capture is one training run: interval and p-value do not cover other "
                "seeds (--runs compares models)"},
      .columns = {layer, number_column(col::kBaselineMean, digits, "baseline"),
                  number_column(col::kMean, digits), number_column(col::kDifference, digits),
                  interval_column("interval", col::kCiLow, col::kCiHigh, digits),
                  number_column(col::kP, 3), number_column(col::kPHolm, 3, "p (Holm)")},
      .heading = [](const ResultRow& row) {
        return fmt::format("{} - {}: {} ({} {}{})", row.text(col::kLabel), row.text(col::kBaseline),
                           name_of(row, col::kBaselineMean), row.integer(col::kN),
                           row.text(col::kItems), smallest_p(row.integer(col::kN)));
      }};
}

std::string name_of_mean(const ResultRow& row) { return name_of(row, col::kMean); }

ReportSection layer_mean_section(double percent, int digits) {
  return {.kind = "layer_mean",
          .notes = {fmt::format("mean and standard deviation over the layers, {:g}% bootstrap "
                                "intervals of the mean: over layers, and over items with the "
                                "layers fixed",
                                percent)},
          .columns = {table_column(col::kLabel, "model"), number_column(col::kMean, digits),
                      number_column(col::kStd, digits),
                      interval_column("over layers", col::kCiLow, col::kCiHigh, digits),
                      interval_column("over items", col::kItemsCiLow, col::kItemsCiHigh, digits),
                      table_column(col::kLayers), table_column(col::kN, "items")},
          .heading = name_of_mean};
}

ReportSection run_mean_section(double percent, int digits) {
  return {
      .kind = "run_mean",
      .notes = {fmt::format("mean and standard deviation over training runs, {:g}% intervals of "
                            "the mean: Student's over runs, bootstrap over runs and items",
                            percent)},
      .columns = {table_column(col::kLabel, "model"), table_column(col::kLayer),
                  number_column(col::kMean, digits), number_column(col::kStd, digits),
                  interval_column("over runs", col::kCiLow, col::kCiHigh, digits),
                  interval_column("runs and items", col::kItemsCiLow, col::kItemsCiHigh, digits),
                  table_column(col::kRuns)},
      .heading = name_of_mean};
}

ReportSection run_comparison_section(double percent, int digits) {
  return {.kind = "run_comparison",
          .notes = {fmt::format("differences of models, [{:g}% bootstrap interval over runs and "
                                "items], two-sided p-value of the permutation of runs, p-value of "
                                "the Kruskal-Wallis test of all models",
                                percent)},
          .columns = {table_column(col::kLayer), number_column(col::kDifference, digits),
                      interval_column("interval", col::kCiLow, col::kCiHigh, digits),
                      number_column(col::kP, 3), number_column(col::kPKruskal, 3, "p (Kruskal)")},
          .heading = [](const ResultRow& row) {
            return fmt::format("{} - {}: {} ({} runs)", row.text(col::kLabel),
                               row.text(col::kBaseline), name_of(row, col::kBaseline),
                               row.integer(col::kRuns));
          }};
}

/// Names models with a single run, about whose training runs nothing can be said.
void remark_on_single_runs(Report& report) {
  RowPointers single = rows_with(report.results.rows, {{col::kKind, "run_mean"}});
  std::erase_if(single, [](const ResultRow* row) { return row->integer(col::kRuns) > 1; });
  if (single.empty()) return;
  report.remarks.push_back(fmt::format(
      "one training run of '{}': no interval over runs; a difference may be due to the seed",
      fmt::join(distinct(single, col::kLabel), "', '")));
}

}  // namespace

void add_sample_sections(Report& report, const CompareOptions& options) {
  const int digits = report.layout.digits;
  const double percent = options.confidence * 100.0;
  if (options.summary == SummaryOver::kLayers) {
    report.shows_main = false;
    report.sections.push_back(layer_mean_section(percent, digits));
  }
  if (!options.runs.empty()) {
    report.shows_main = false;
    report.sections.push_back(run_mean_section(percent, digits));
    report.sections.push_back(run_comparison_section(percent, digits));
    remark_on_single_runs(report);
  }
  if (options.compare != ComparePairs::kNone) {
    report.sections.push_back(comparison_section(percent, digits));
  }
}

}  // namespace lime
