// SPDX-License-Identifier: Apache-2.0
#include "analysis/collapse/collapse_rows.h"

#include <charconv>
#include <cmath>

#include "store/results/columns.h"

namespace lime {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The estimates of a layer and their columns.
struct EstimateColumn {
  const MeasuredColumn& column;
  Estimate LayerCauses::*value;
};
const std::vector<EstimateColumn>& estimate_columns() {
  static const std::vector<EstimateColumn> columns = {
      {col::kMassiveShare, &LayerCauses::massive_share},
      {col::kMassiveShareCentred, &LayerCauses::massive_share_centred},
      {col::kMassiveShareRest, &LayerCauses::massive_share_rest},
      {col::kParticipationGain, &LayerCauses::participation_gain},
      {col::kDimensionShare, &LayerCauses::dimension_share},
      {col::kDimensionShareCentred, &LayerCauses::dimension_share_centred},
      {col::kCommonShare, &LayerCauses::common_share},
      {col::kIntraclass, &LayerCauses::intraclass},
      {col::kRankOneResidual, &LayerCauses::rank_one_residual},
      {col::kRankOneResidualRest, &LayerCauses::rank_one_residual_rest},
      {col::kEffectiveRank, &LayerCauses::effective_rank},
      {col::kSequenceEntropy, &LayerCauses::entropy},
      {col::kSequenceEntropyWithout, &LayerCauses::entropy_without_tokens}};
  return columns;
}

struct ValueColumn {
  const NumberColumn& column;
  double LayerCauses::*value;
};
const std::vector<ValueColumn>& value_columns() {
  static const std::vector<ValueColumn> columns = {
      {col::kLargestRatio, &LayerCauses::largest_ratio},
      {col::kDimensionTokens, &LayerCauses::dimension_tokens},
      {col::kRankCeiling, &LayerCauses::rank_ceiling},
      {col::kParticipation, &LayerCauses::participation},
      {col::kParticipationWithoutTokens, &LayerCauses::participation_without_tokens},
      {col::kParticipationWithoutDimensions, &LayerCauses::participation_without_dimensions},
      {col::kParticipationRest, &LayerCauses::participation_rest}};
  return columns;
}

double number_or_nan(const ResultRow& row, const Column& column) {
  return row.has(column) ? row.number(column) : kNan;
}

std::int64_t integer_or(const ResultRow& row, const Column& column, std::int64_t otherwise) {
  return row.has(column) ? row.integer(column) : otherwise;
}

void set_massive(ResultRow& row, const MassiveSummary& massive, const std::string& text) {
  row.set(col::kMassiveTokens, massive.count);
  if (massive.count == 0) return;
  if (massive.token >= 0) {
    row.set(col::kMassiveToken, massive.token).set(col::kMassiveTokenCount, massive.token_count);
  }
  if (!text.empty()) row.set(col::kMassiveText, text);
  if (massive.position >= 0) {
    row.set(col::kMassivePosition, massive.position)
        .set(col::kMassivePositionCount, massive.position_count);
  }
  row.set(col::kMassiveDimension, massive.dimension)
      .set(col::kMassiveDimensionCount, massive.dimension_count)
      .set(col::kMassiveValue, massive.largest);
}

MassiveSummary massive_of(const ResultRow& row) {
  MassiveSummary massive;
  massive.count = integer_or(row, col::kMassiveTokens, 0);
  massive.token = static_cast<std::int32_t>(integer_or(row, col::kMassiveToken, -1));
  massive.token_count = integer_or(row, col::kMassiveTokenCount, 0);
  massive.position = static_cast<std::int32_t>(integer_or(row, col::kMassivePosition, -1));
  massive.position_count = integer_or(row, col::kMassivePositionCount, 0);
  massive.dimension = static_cast<int>(integer_or(row, col::kMassiveDimension, -1));
  massive.dimension_count = integer_or(row, col::kMassiveDimensionCount, 0);
  if (row.has(col::kMassiveValue)) massive.largest = row.number(col::kMassiveValue);
  return massive;
}

std::vector<int> integers_of(const std::string& text) {
  std::vector<int> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int number = 0;
    const auto parsed = std::from_chars(at, end, number);
    if (parsed.ec != std::errc()) break;
    numbers.push_back(number);
    at = std::min(end, parsed.ptr + 2);  // ", "
  }
  return numbers;
}

/// Shows the middle of an interval and its ends: "98 [97, 99]".
TableColumn measured_column(const MeasuredColumn& column, int digits, std::string header,
                            double scale = 1.0) {
  return {.header = std::move(header),
          .cell = [&column, digits, scale](const ResultRow& row) -> std::string {
            if (!row.has(column)) return "";
            const double value = row.number(column) * scale;
            const double low = number_or_nan(row, column.low) * scale;
            const double high = number_or_nan(row, column.high) * scale;
            if (!(low <= high)) return fmt::format("{:.{}f}", value, digits);
            return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", value, digits, low, digits, high,
                               digits);
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

ResultRow row_of_facts(const LayerFacts& facts, const std::string& massive_text) {
  const LayerCauses& causes = facts.causes;
  ResultRow row = {{col::kVerdict, findings_text(facts.findings)},
                   {col::kN, causes.rows},
                   {col::kSequences, causes.sequences},
                   {col::kDim, causes.dim}};
  set_massive(row, facts.massive, massive_text);
  row.set(col::kOutlierDimensions, fmt::format("{}", fmt::join(causes.dimensions, ", ")));
  for (const auto& [column, value] : estimate_columns()) {
    const Estimate& estimate = causes.*value;
    row.set(column, estimate.value);
    if (estimate.has_interval()) row.set(column.low, estimate.low).set(column.high, estimate.high);
  }
  for (const auto& [column, value] : value_columns()) row.set(column, causes.*value);
  if (causes.control) {
    row.set(col::kControlIntraclass, causes.control->intraclass)
        .set(col::kControlRank, causes.control->effective_rank);
  }
  return row;
}

LayerFacts facts_of_row(const ResultRow& row, int layer) {
  LayerFacts facts;
  facts.layer = layer;
  facts.findings = parse_findings(row.text(col::kVerdict));
  facts.massive = massive_of(row);
  LayerCauses& causes = facts.causes;
  causes.rows = row.integer(col::kN);
  causes.sequences = row.integer(col::kSequences);
  causes.dim = row.integer(col::kDim);
  causes.dimensions = integers_of(row.text(col::kOutlierDimensions));
  for (const auto& [column, value] : estimate_columns()) {
    causes.*value = {number_or_nan(row, column), number_or_nan(row, column.low),
                     number_or_nan(row, column.high)};
  }
  for (const auto& [column, value] : value_columns()) causes.*value = number_or_nan(row, column);
  if (row.has(col::kControlRank)) {
    causes.control = {number_or_nan(row, col::kControlIntraclass),
                      number_or_nan(row, col::kControlRank)};
  }
  return facts;
}

ResultRow RangeVerdict::row() const {
  return {{col::kLabel, label},
          {col::kSite, site},
          {col::kLayer, first},
          {col::kKind, kRangeKind},
          {col::kLastLayer, last},
          {col::kVerdict, findings_text(findings)},
          {col::kSentence, sentence.text()}};
}

std::vector<RangeVerdict> range_verdicts(const std::string& label, const std::string& site,
                                         std::span<const LayerFacts> layers,
                                         std::span<const LayerFacts> random,
                                         const CollapseOptions& options,
                                         const TokenText& token_text) {
  std::vector<RangeVerdict> verdicts;
  for (const auto& [first, last] : ranges_of(layers)) {
    const auto range = layers.subspan(first, last - first + 1);
    const auto beside = random.empty() ? random : random.subspan(first, last - first + 1);
    verdicts.push_back({label, site, range.front().layer, range.back().layer,
                        range.front().findings, sentence_of(range, beside, options, token_text)});
  }
  return verdicts;
}

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
