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

std::vector<int> integers_of(const NumberArray& array) {
  std::vector<int> numbers;
  for (const double number : array.values) numbers.push_back(static_cast<int>(number));
  return numbers;
}

}  // namespace

ResultRow row_of_facts(const LayerFacts& facts, const std::string& massive_text) {
  const LayerCauses& causes = facts.causes;
  ResultRow row = {
      {col::kVerdict, findings_text(facts.findings)},
      {col::kCertain, std::ranges::any_of(facts.findings, &CollapseFinding::is_certain)},
      {col::kN, causes.rows},
      {col::kSequences, causes.sequences},
      {col::kDim, causes.dim}};
  set_massive(row, facts.massive, massive_text);
  row.set_cell(col::kOutlierDimensions.name,
               NumberArray{.shape = {std::ssize(causes.dimensions)},
                           .values = {causes.dimensions.begin(), causes.dimensions.end()},
                           .is_whole = true});
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

LayerFacts facts_of_row(const ResultRow& row, int layer, const CollapseOptions& options) {
  LayerFacts facts;
  facts.layer = layer;
  facts.massive = massive_of(row);
  LayerCauses& causes = facts.causes;
  causes.rows = row.integer(col::kN);
  causes.sequences = row.integer(col::kSequences);
  causes.dim = row.integer(col::kDim);
  if (const NumberArray* const dimensions = row.cell(col::kOutlierDimensions).array()) {
    causes.dimensions = integers_of(*dimensions);
  }
  for (const auto& [column, value] : estimate_columns()) {
    causes.*value = {number_or_nan(row, column), number_or_nan(row, column.low),
                     number_or_nan(row, column.high)};
  }
  for (const auto& [column, value] : value_columns()) causes.*value = number_or_nan(row, column);
  if (row.has(col::kControlRank)) {
    causes.control = {number_or_nan(row, col::kControlIntraclass),
                      number_or_nan(row, col::kControlRank)};
  }
  facts.findings = findings_of(causes, options);
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

}  // namespace lime
