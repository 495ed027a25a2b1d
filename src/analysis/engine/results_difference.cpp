// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/results_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/errors.h"

namespace lime {
namespace {

/// Returns the name of a row, e.g. "LIMe, values, layer 3".
std::string describe_row(const Json& row, std::size_t index) {
  std::string text;
  for (const char* column : {"kind", "label", "site", "layer", "task"}) {
    const auto found = row.find(column);
    if (found == row.end()) continue;
    if (!text.empty()) text += ", ";
    text += found->is_string() ? found->get<std::string>()
                               : fmt::format("{} {}", column, found->dump());
  }
  return text.empty() ? fmt::format("row {}", index) : text;
}

/// Returns |after - before|, or infinity if their types differ.
double distance(const Json& before, const Json& after) {
  if (before == after) return 0.0;
  if (!before.is_number() || !after.is_number()) return std::numeric_limits<double>::infinity();
  return std::abs(after.get<double>() - before.get<double>());
}

bool within(const Json& before, const Json& after, double difference, double tolerance) {
  if (difference == 0.0) return before == after;
  if (!std::isfinite(difference)) return false;
  const double size = std::max(std::abs(before.get<double>()), std::abs(after.get<double>()));
  return difference <= tolerance * size;
}

ColumnDifference compare_column(const std::string& column, const std::vector<Json>& before,
                                const std::vector<Json>& after, double tolerance) {
  ColumnDifference result{.column = column, .where = "", .before = nullptr, .after = nullptr};
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool is_there = before[i].contains(column);
    if (!is_there && !after[i].contains(column)) continue;
    ++result.values;
    const Json old_value = is_there ? results_value(before[i].at(column)) : Json();
    const Json new_value = after[i].contains(column) ? results_value(after[i].at(column)) : Json();
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

std::int64_t ResultsDifference::num_values() const {
  return sum_of(columns, &ColumnDifference::values);
}

std::int64_t ResultsDifference::num_different() const {
  return sum_of(columns, &ColumnDifference::different);
}

ResultsDifference compare_results(const Results& before, const Results& after, double tolerance) {
  if (!(tolerance >= 0.0) || !std::isfinite(tolerance)) {
    throw InvalidArgument("tolerance: must be >= 0, got {}", tolerance);
  }
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
