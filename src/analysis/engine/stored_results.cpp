// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/stored_results.h"

#include <array>
#include <cmath>

#include "analysis/engine/qualifiers.h"
#include "core/errors.h"

namespace lime {
namespace {

/// Numbers that are options of a row, or describe its mean.
constexpr std::array<Column, 8> kNotMeasured = {col::kAlpha,      col::kTokens,      col::kCeiling,
                                                col::kCeilingMin, col::kStd,         col::kStderr,
                                                col::kPerplexity, col::kLearningRate};

double number_or_nan(const ResultRow& row, const std::string& column) {
  return row.cell({column}).number().value_or(std::numeric_limits<double>::quiet_NaN());
}

/// Returns the name of a row, e.g. "LIMe, values, layer 3".
std::string describe_row(const ResultRow& row, std::size_t index) {
  std::string text;
  for (const Column& column : {Column(col::kKind), Column(col::kLabel), Column(col::kSite),
                               Column(col::kLayer), Column(col::kTask)}) {
    if (!row.has(column)) continue;
    if (!text.empty()) text += ", ";
    text += row.cell(column).is_text() ? row.text(column)
                                       : fmt::format("{} {}", column.name, row.shown(column));
  }
  return text.empty() ? fmt::format("row {}", index) : text;
}

/// Returns |after - before|, of arrays the largest, or infinity if their types differ.
double distance(const ResultCell& before, const ResultCell& after) {
  if (before == after) return 0.0;
  const NumberArray* const old_array = before.array();
  const NumberArray* const new_array = after.array();
  if (old_array != nullptr && new_array != nullptr && old_array->shape == new_array->shape) {
    double largest = 0.0;
    for (std::size_t i = 0; i < old_array->values.size(); ++i) {
      largest = std::max(largest, distance(old_array->values[i], new_array->values[i]));
    }
    return largest;
  }
  const auto old_number = before.number();
  const auto new_number = after.number();
  const bool are_numbers = old_number && new_number && !std::isnan(*old_number - *new_number);
  return are_numbers ? std::abs(*new_number - *old_number)
                     : std::numeric_limits<double>::infinity();
}

bool within(const ResultCell& before, const ResultCell& after, double difference,
            double tolerance) {
  if (difference == 0.0) return before == after;
  if (!std::isfinite(difference)) return false;
  if (before.array() != nullptr) {
    for (std::size_t i = 0; i < before.array()->values.size(); ++i) {
      const ResultCell old_value = before.array()->values[i];
      const ResultCell new_value = after.array()->values[i];
      if (!within(old_value, new_value, distance(old_value, new_value), tolerance)) return false;
    }
    return true;
  }
  const double size = std::max(std::abs(*before.number()), std::abs(*after.number()));
  return difference <= tolerance * size;
}

ColumnDifference compare_column(const std::string& name, const std::vector<ResultRow>& before,
                                const std::vector<ResultRow>& after, double tolerance) {
  ColumnDifference result{.column = name, .where = "", .before = nullptr, .after = nullptr};
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!before[i].contains({name}) && !after[i].contains({name})) continue;
    ++result.values;
    const ResultCell& old_value = before[i].cell({name});
    const ResultCell& new_value = after[i].cell({name});
    const double difference = distance(old_value, new_value);
    if (!within(old_value, new_value, difference, tolerance)) ++result.different;
    if (difference > result.largest) {
      result.largest = difference;
      result.where = describe_row(before[i], i);
      result.before = old_value;
      result.after = new_value;
    }
  }
  return result;
}

std::int64_t sum_of(const std::vector<ColumnDifference>& columns,
                    std::int64_t ColumnDifference::*member) {
  std::int64_t sum = 0;
  for (const ColumnDifference& column : columns) sum += column.*member;
  return sum;
}

}  // namespace

std::vector<StoredValue> stored_values_of(const ResultRow& row, const std::string& metric) {
  const std::string& kind = row.text(col::kKind);
  const bool is_of_others =
      row.has(col::kOtherLabel) && !row.matches({{col::kLabel, row.text(col::kOtherLabel)}});
  if ((!kind.empty() && kind != "layer") || is_of_others) return {};
  const std::string qualifiers = qualifiers_of(row);
  std::vector<StoredValue> found;
  const auto add = [&](const std::string& name, const std::string& value, const std::string& low,
                       const std::string& high) {
    const double number = number_or_nan(row, value);
    if (!std::isfinite(number)) return;
    found.push_back(
        {name + qualifiers, name, number, number_or_nan(row, low), number_or_nan(row, high)});
  };
  if (row.has(col::kMean)) {
    const std::string& measure = row.text(col::kMeasure);
    add(measure.empty() ? metric : measure, "mean", "ci_low", "ci_high");
    return found;
  }
  for (const auto& [name, value] : row.cells()) {
    const Column* const column = find_column(name);
    const std::string_view all = name;
    if (column == nullptr || column->type != CellType::kNumber || all.ends_with("_low") ||
        all.ends_with("_high") || std::ranges::find(kNotMeasured, *column) != kNotMeasured.end()) {
      continue;
    }
    add(name, name, name + "_low", name + "_high");
  }
  return found;
}

std::int64_t ResultsDifference::num_values() const {
  return sum_of(columns, &ColumnDifference::values);
}

std::int64_t ResultsDifference::num_different() const {
  return sum_of(columns, &ColumnDifference::different);
}

ResultsDifference compare_results(const Results& before, const Results& after, double tolerance) {
  throw_if(!(tolerance >= 0.0) || !std::isfinite(tolerance), OptionName("tolerance"),
           "must be >= 0, got {}", tolerance);
  ResultsDifference result;
  if (before.rows.size() != after.rows.size()) {
    result.mismatch = fmt::format("{} rows before, {} now", before.rows.size(), after.rows.size());
    return result;
  }
  Results both = before;
  both.rows.insert(both.rows.end(), after.rows.begin(), after.rows.end());
  for (const std::string& column : results_columns(both)) {
    result.columns.push_back(compare_column(column, before.rows, after.rows, tolerance));
  }
  return result;
}

}  // namespace lime
