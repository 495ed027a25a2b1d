// SPDX-License-Identifier: Apache-2.0
#include "store/results/result_row.h"

#include "core/errors.h"
#include "store/results/row_json.h"

namespace lime {

NumberArray array_of(const Eigen::MatrixXi& matrix) {
  NumberArray array{{matrix.rows(), matrix.cols()}, {}, true};
  for (const auto& row : matrix.rowwise()) {
    array.values.insert(array.values.end(), row.begin(), row.end());
  }
  return array;
}

const ResultCell* ResultRow::find(const Column& column) const {
  const auto found = std::ranges::find(cells_, column.name, &NamedCell::name);
  return found == cells_.end() ? nullptr : &found->value;
}

ResultCell& ResultRow::place_of(std::string_view name) {
  const auto found = std::ranges::find(cells_, name, &NamedCell::name);
  if (found != cells_.end()) return found->value;
  return cells_.emplace_back(NamedCell{std::string(name), nullptr}).value;
}

const ResultCell& ResultRow::cell(const Column& column) const {
  static const ResultCell none;
  const ResultCell* const found = find(column);
  return found == nullptr ? none : *found;
}

bool ResultRow::matches(std::initializer_list<Text> texts) const {
  return std::ranges::all_of(texts,
                             [&](const Text& entry) { return text(entry.first) == entry.second; });
}

double ResultRow::number(const Column& column) const {
  const ResultCell& found = cell(column);
  if (const auto number = found.number()) return *number;
  if (found.is_empty()) throw FormatError("results: a row has no '{}'", column.name);
  throw FormatError("results: '{}' must be a number, got {}", column.name, json_text(found));
}

std::int64_t ResultRow::integer(const Column& column) const {
  const ResultCell& found = cell(column);
  if (const auto integer = found.integer()) return *integer;
  throw FormatError("results: '{}' must be an integer, got {}", column.name, json_text(found));
}

std::size_t ResultRow::hash() const {
  std::size_t hash = cells_.size();
  for (const NamedCell& cell : cells_) {
    hash = hash * 31 + std::hash<std::string_view>()(cell.name);
    hash = hash * 31 + cell.value.hash();
  }
  return hash;
}

std::vector<const ResultRow*> rows_with(const std::vector<ResultRow>& rows,
                                        std::initializer_list<ResultRow::Text> texts) {
  std::vector<const ResultRow*> chosen;
  for (const ResultRow& row : rows) {
    if (row.matches(texts)) chosen.push_back(&row);
  }
  return chosen;
}

}  // namespace lime
