// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/measurements.h"

#include <array>
#include <cmath>

namespace lime {
namespace {

/// Numbers that are options of a row, or describe its mean.
constexpr std::array<Column, 8> kNotMeasured = {col::kAlpha,      col::kTokens,      col::kCeiling,
                                                col::kCeilingMin, col::kStd,         col::kStderr,
                                                col::kPerplexity, col::kLearningRate};

std::string parts_of(const ResultRow& row) {
  std::string parts;
  if (row.has(col::kAlpha)) parts += ", alpha " + row.shown(col::kAlpha);
  for (const TextColumn& column : {col::kPreset, col::kMethod, col::kLabels, col::kTask, col::kName,
                                   col::kRouter, col::kPart, col::kWeighting, col::kRead}) {
    const bool is_repeated = column == col::kName && row.has(col::kTask);
    if (row.has(column) && !is_repeated) parts += ", " + row.text(column);
  }
  for (const IntegerColumn& column : {col::kHead, col::kPosition, col::kOtherLayer}) {
    if (row.has(column)) parts += fmt::format(", {} {}", column.name, row.shown(column));
  }
  if (row.has(col::kOver) && row.text(col::kOver) != "sequences") {
    parts += ", over " + row.text(col::kOver);
  }
  return parts;
}

double number_or_nan(const ResultRow& row, const std::string& column) {
  return number_of(row.cell({column})).value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

std::vector<Measurement> measurements_of(const ResultRow& row, const std::string& metric) {
  const std::string& kind = row.text(col::kKind);
  const bool is_of_others =
      row.has(col::kOtherLabel) && !row.matches({{col::kLabel, row.text(col::kOtherLabel)}});
  if ((!kind.empty() && kind != "layer") || is_of_others) return {};
  const std::string parts = parts_of(row);
  std::vector<Measurement> found;
  const auto add = [&](const std::string& name, const std::string& value, const std::string& low,
                       const std::string& high) {
    const double number = number_or_nan(row, value);
    if (!std::isfinite(number)) return;
    found.push_back({name + parts, number, number_or_nan(row, low), number_or_nan(row, high)});
  };
  if (row.has(col::kMean)) {
    const std::string& measure = row.text(col::kMeasure);
    add(measure.empty() ? metric : measure, "mean", "ci_low", "ci_high");
    return found;
  }
  for (const auto& [name, value] : row.json().items()) {
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

}  // namespace lime
