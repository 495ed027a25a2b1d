// SPDX-License-Identifier: Apache-2.0
#include "analysis/audit/audit_changes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "analysis/audit/audit_proofs.h"
#include "analysis/audit/audit_rounding.h"
#include "analysis/audit/audit_rows.h"
#include "analysis/engine/qualifiers.h"

namespace lime {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Values below it in magnitude, most of them fractions, are compared as if they were it.
constexpr double kSmallest = 1e-3;
/// The interval of a value that is the same in every sequence is rounding: it is none.
constexpr double kSmallestInterval = 1e-9;

using ValuesByPlace = std::unordered_map<ResultRow, const ResultRow*, ResultRowHash>;

/// Returns what a value is of: its row without the variant and the numbers.
ResultRow place_of(const ResultRow& value) {
  ResultRow place = value;
  for (const Column& column : {Column(col::kLabel), Column(col::kOtherLabel), Column(col::kMean),
                               Column(col::kCiLow), Column(col::kCiHigh), Column(col::kVerdict)}) {
    place.erase(column);
  }
  return place;
}

/// Change of one measure of a site over all places.
struct MeasureChange {
  double relative = 0.0;
  double half_widths = std::numeric_limits<double>::quiet_NaN();
  const ResultRow* before = nullptr;  ///< where the change is largest
  const ResultRow* after = nullptr;
  double num_places = 0.0;
  double num_texts = 0.0;  ///< places whose text differs
};

void add_number(const ResultRow& before, const ResultRow& after, double rounding,
                MeasureChange& change) {
  const double value = before.number(col::kMean);
  const double difference = std::abs(after.number(col::kMean) - value);
  const double relative = difference / std::max(std::abs(value), kSmallest);
  double half_widths = std::numeric_limits<double>::quiet_NaN();
  if (before.has(col::kCiLow)) {
    const double half = (before.number(col::kCiHigh) - before.number(col::kCiLow)) / 2.0;
    if (relative <= rounding) half_widths = 0.0;
    const bool is_interval = half > kSmallestInterval * std::max(std::abs(value), kSmallest);
    if (relative > rounding && is_interval) half_widths = difference / half;
  }
  const bool is_larger = std::isnan(half_widths)
                             ? std::isnan(change.half_widths) && relative > change.relative
                             : !(half_widths <= change.half_widths);
  if (is_larger || change.before == nullptr) {
    change.before = &before;
    change.after = &after;
  }
  change.relative = std::max(change.relative, relative);
  if (!std::isnan(half_widths)) {
    change.half_widths =
        std::isnan(change.half_widths) ? half_widths : std::max(change.half_widths, half_widths);
  }
}

void add_place(const ResultRow& before, const ResultRow* after, double rounding,
               MeasureChange& change) {
  ++change.num_places;
  if (after == nullptr) {
    change.relative = kInfinity;
    change.half_widths = kInfinity;
    change.before = &before;
    change.after = nullptr;
  } else if (before.has(col::kVerdict)) {
    if (before.text(col::kVerdict) != after->text(col::kVerdict)) ++change.num_texts;
    change.relative = std::max(change.relative, change.num_texts / change.num_places);
  } else {
    add_number(before, *after, rounding, change);
  }
}

std::string_view verdict_of(const MeasureChange& change, double rounding, bool has_proof,
                            AuditOver over) {
  const bool is_equal = change.relative <= rounding;
  if (over == AuditOver::kTexts) {
    if (is_equal) return audit_verdict::kConstant;
    return change.half_widths > 0.0 && change.half_widths <= 1.0 ? audit_verdict::kWithin
                                                                 : audit_verdict::kText;
  }
  if (is_equal) return has_proof ? audit_verdict::kByProof : audit_verdict::kInFact;
  return has_proof ? audit_verdict::kContradiction : audit_verdict::kCoordinates;
}

/// A measure of a site, and its values in the reference.
struct MeasureOfSite {
  ResultRow key;  ///< what names the measure
  std::vector<const ResultRow*> values = {};
};

/// Returns the cells of a value that name its measure: those of its place, but for the site, none.
ResultRow measure_of(const ResultRow& value) {
  ResultRow measure = place_of(value);
  measure.erase(col::kKind);
  for (const Column& column : audit_place_columns()) {
    if (column != Column(col::kSite)) measure.erase(column);
  }
  return measure;
}

std::vector<MeasureOfSite> measures_of(std::span<const ResultRow* const> values,
                                       const std::string& reference) {
  std::vector<MeasureOfSite> measures;
  std::unordered_map<ResultRow, std::size_t, ResultRowHash> numbers;
  for (const ResultRow* const value : values) {
    if (value->text(col::kLabel) != reference) continue;
    ResultRow key = measure_of(*value);
    const auto [found, is_new] = numbers.try_emplace(key, measures.size());
    if (is_new) measures.push_back({std::move(key)});
    measures[found->second].values.push_back(value);
  }
  return measures;
}

/// Returns the name of a measure as tables show it: "distance per head", "mean_depth, keys".
std::string name_of(const ResultRow& measure) {
  std::string name = measure.text(col::kMeasure);
  if (measure.has(col::kPer)) name += " per " + measure.text(col::kPer);
  return name + qualifiers_of(measure);
}

ResultRow change_row(const MeasureOfSite& measure, const std::string& variant,
                     const ValuesByPlace& values, AuditOver over) {
  const ResultRow& key = measure.key;
  const std::optional<AuditMetric> metric = find_enum<AuditMetric>(key.text(col::kQuantity));
  throw_if<FormatError>(!metric, "audit: unknown measurement '{}'", key.text(col::kQuantity));
  const double rounding = rounding_of(*metric);
  MeasureChange change;
  for (const ResultRow* const before : measure.values) {
    const auto found = values.find(place_of(*before));
    add_place(*before, found == values.end() ? nullptr : found->second, rounding, change);
  }
  const std::string proof = over == AuditOver::kTexts
                                ? ""
                                : proof_of(variant, {.metric = *metric,
                                                     .site = key.text(col::kSite),
                                                     .measure = key.text(col::kMeasure),
                                                     .per = key.text(col::kPer),
                                                     .weighting = key.text(col::kWeighting)});
  ResultRow row{{col::kLabel, variant},
                {col::kQuantity, key.text(col::kQuantity)},
                {col::kSite, key.text(col::kSite)},
                {col::kMeasure, name_of(key)}};
  if (change.before != nullptr && !change.before->has(col::kVerdict)) {
    if (change.before->has(col::kLayer)) {
      row.set(col::kLayer, change.before->integer(col::kLayer));
    }
    row.set(col::kBaselineMean, change.before->number(col::kMean));
    if (change.after != nullptr) row.set(col::kMean, change.after->number(col::kMean));
  }
  row.set(col::kRelativeChange, change.relative);
  row.set(col::kVerdict, verdict_of(change, rounding, !proof.empty(), over));
  // Where the interval of what moves is a point, the change is relative only.
  const bool has_interval =
      !std::isnan(change.half_widths) && (change.half_widths > 0.0 || is_still(row));
  if (has_interval) row.set(col::kHalfWidths, change.half_widths);
  if (!proof.empty()) row.set(col::kProof, proof);
  return row;
}

/// Returns a number as a cell shows it; before it the mark of a contradiction, if it is one.
TableCell number_cell(double value, bool is_contradiction, std::string unit) {
  const std::string mark = is_contradiction ? "!" : "";
  if (!std::isfinite(value)) return mark + "undefined";
  const int digits = value >= 10.0 ? 0 : 1;
  return NumberCell{.value = value, .digits = digits, .unit = std::move(unit), .mark = mark};
}

}  // namespace

std::vector<ResultRow> change_rows(std::span<const ResultRow* const> values, AuditOver over) {
  if (values.empty()) return {};
  const std::string reference = values.front()->text(col::kLabel);
  std::vector<std::string> variants;
  std::unordered_map<std::string, ValuesByPlace> by_variant;
  for (const ResultRow* const value : values) {
    const std::string& variant = value->text(col::kLabel);
    const auto [found, is_new] = by_variant.try_emplace(variant);
    if (is_new && variant != reference) variants.push_back(variant);
    found->second.emplace(place_of(*value), value);
  }
  std::vector<ResultRow> rows;
  const std::vector<MeasureOfSite> measures = measures_of(values, reference);
  for (const std::string& variant : variants) {
    for (const MeasureOfSite& measure : measures) {
      rows.push_back(change_row(measure, variant, by_variant.at(variant), over));
    }
  }
  return rows;
}

TableCell change_cell(const ResultRow& row) {
  const std::string& verdict = row.text(col::kVerdict);
  if (verdict == audit_verdict::kByProof) return "=";
  if (is_still(row)) return "~";
  const bool is_contradiction = verdict == audit_verdict::kContradiction;
  if (row.has(col::kHalfWidths)) {
    return number_cell(row.number(col::kHalfWidths), is_contradiction, "");
  }
  return number_cell(100.0 * row.number(col::kRelativeChange), is_contradiction, " %");
}

}  // namespace lime
