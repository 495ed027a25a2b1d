// SPDX-License-Identifier: Apache-2.0
#include "analysis/collapse/collapse_report.h"

namespace lime {
namespace {

/// Shows a value and the ends of its interval.
TableColumn measured_column(const MeasuredColumn& column, int digits, std::string header,
                            double scale = 1.0) {
  return {.header = std::move(header),
          .cell = [&column, digits, scale](const ResultRow& row) -> TableCell {
            if (!row.has(column)) return "";
            MeasuredCell cell{.value = row.number(column) * scale, .digits = digits};
            if (row.has(column.low)) {
              cell.interval = {row.number(column.low) * scale, row.number(column.high) * scale};
            }
            return cell;
          },
          .source = column};
}

std::vector<TableColumn> columns_of_layers(const Results& results) {
  std::vector<TableColumn> columns;
  if (results.inputs.size() > 1) columns.push_back(table_column(col::kLabel));
  if (distinct(results.rows, col::kSite).size() > 1) columns.push_back(table_column(col::kSite));
  columns.push_back(table_column(col::kLayer));
  columns.push_back(table_column(col::kMassiveTokens, "massive"));
  columns.push_back(measured_column(col::kMassiveShare, 0, "share %", 100.0));
  columns.push_back(measured_column(col::kMassiveShareCentred, 0, "centred %", 100.0));
  columns.push_back(measured_column(col::kDimensionShare, 0, "dimensions %", 100.0));
  columns.push_back(measured_column(col::kCommonShare, 0, "common %", 100.0));
  columns.push_back(measured_column(col::kIntraclass, 2, "intraclass"));
  columns.push_back(measured_column(col::kEffectiveRank, 0, "effective rank"));
  columns.push_back(number_column(col::kParticipation, 1, "PR"));
  columns.push_back(number_column(col::kParticipationWithoutTokens, 1, "PR -tokens"));
  columns.push_back(number_column(col::kParticipationRest, 1, "PR rest"));
  columns.push_back(number_column(col::kSequenceEntropy, 3, "entropy"));
  columns.push_back(number_column(col::kSequenceEntropyWithout, 3, "-tokens"));
  columns.push_back(table_column(col::kVerdict));
  columns.back().to_the_right = false;
  return columns;
}

std::vector<TableColumn> columns_of_ranges(const Results& results) {
  std::vector<TableColumn> columns;
  if (results.inputs.size() > 1) columns.push_back(table_column(col::kLabel));
  if (distinct(results.rows, col::kSite).size() > 1) columns.push_back(table_column(col::kSite));
  columns.push_back(table_column(col::kLayer, "from layer"));
  columns.push_back(table_column(col::kLastLayer, "to layer"));
  columns.push_back(table_column(col::kVerdict));
  columns.back().to_the_right = false;
  return columns;
}

}  // namespace

void fill_collapse_report(Report& report, const std::vector<std::string>& inputs,
                          const std::vector<RangeVerdict>& verdicts,
                          const std::vector<std::string>& caveats, const CollapseOptions& options) {
  const std::vector<ResultRow>& rows = report.results.rows;
  const bool names_label = report.results.inputs.size() > 1;
  const bool names_site = distinct(rows, col::kSite).size() > 1;
  report.notes = inputs;
  report.notes.emplace_back("");
  for (const RangeVerdict& verdict : verdicts) {
    std::string place;
    if (names_label) place += verdict.label + ", ";
    if (names_site) place += verdict.site + ", ";
    report.notes.push_back(place + verdict.sentence.layers + ": " + verdict.sentence.verdict);
    report.notes.push_back("  " + verdict.sentence.evidence);
  }
  report.notes.emplace_back("");
  report.notes.emplace_back("what this cannot say:");
  for (const std::string& caveat : caveats) report.notes.push_back("- " + caveat);
  report.legend = fmt::format(
      "massive: tokens of at least {:g} times the median norm, and their share of the trace; "
      "dimensions: share of outlier dimensions without massive tokens; common: share of the mean "
      "vector without both; PR: participation ratio; entropy: of order 1/2, preset raw; -tokens: "
      "without massive tokens; rest: without massive tokens and outlier dimensions; present from "
      "{:g} "
      "% on, effective rank below {:g} % of its maximum",
      options.massive_ratio, 100.0 * options.share, 100.0 * options.rank_share);
  report.columns = columns_of_layers(report.results);
  report.sections.push_back(
      {.kind = kRangeKind,
       .notes = {},
       .columns = columns_of_ranges(report.results),
       .heading = [](const ResultRow&) { return std::string("ranges of layers"); }});
}

}  // namespace lime
