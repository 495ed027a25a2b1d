// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "store/results/column.h"
#include "store/results/result_cell.h"

namespace lime {

NumberArray array_of(const Eigen::MatrixXi& matrix);

/// Converts a value to the content of a cell of type `kType`; null is an empty cell.
template <CellType kType, typename T> ResultCell cell_of(const T& value) {
  if constexpr (std::same_as<T, std::nullptr_t>) {
    return nullptr;
  } else if constexpr (kType == CellType::kText) {
    return std::string_view(value);
  } else if constexpr (kType == CellType::kMatrix) {
    return array_of(value);
  } else if constexpr (kType == CellType::kNumbers) {
    return NumberArray{{std::ssize(value)}, {value.begin(), value.end()}};
  } else {
    static_assert(std::is_arithmetic_v<T> && std::same_as<T, bool> == (kType == CellType::kBoolean),
                  "the value is not of the column's type");
    static_assert(kType != CellType::kInteger || std::integral<T>, "the column contains integers");
    return value;
  }
}

/// A row of results: cells under columns, in the order in which they were set. Rows are equal if
/// their cells are, in the same order; a row serves as a key.
class ResultRow {
 public:
  /// A cell of an initializer list: `ResultRow{{col::kKind, "layer"}, {col::kHead, 3}}`.
  struct Entry {
    template <CellType kType, typename T>
    Entry(const ColumnOf<kType>& column, const T& content)
        : name(column.name), value(cell_of<kType>(content)) {}
    std::string_view name;
    ResultCell value;
  };
  struct NamedCell {
    std::string name;
    ResultCell value;
    bool operator==(const NamedCell&) const = default;
  };
  /// A column and the text that it must have.
  using Text = std::pair<TextColumn, std::string_view>;

  ResultRow() = default;
  ResultRow(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) place_of(entry.name) = entry.value;
  }

  template <CellType kType, typename T>
  ResultRow& set(const ColumnOf<kType>& column, const T& value) {
    place_of(column.name) = cell_of<kType>(value);
    return *this;
  }
  /// Sets a cell to what a file has, whatever its column declares.
  ResultRow& set_cell(std::string_view name, ResultCell value) {
    place_of(name) = std::move(value);
    return *this;
  }
  /// Sets a cell to an array over its axes.
  ResultRow& set_array(const NumberColumn& column, NumberArray array) {
    return set_cell(column.name, std::move(array));
  }
  /// Sets all cells of `other`; new ones follow those that are there.
  ResultRow& add(const ResultRow& other) {
    for (const NamedCell& cell : other.cells_) place_of(cell.name) = cell.value;
    return *this;
  }
  void erase(const Column& column) {
    std::erase_if(cells_, [&](const NamedCell& cell) { return cell.name == column.name; });
  }

  const std::vector<NamedCell>& cells() const { return cells_; }
  /// Returns true if the row has the cell, with or without a value.
  bool contains(const Column& column) const { return find(column) != nullptr; }
  /// Returns true if the row has the cell and it is not empty.
  bool has(const Column& column) const { return !cell(column).is_empty(); }
  /// Returns the content of a cell; empty if it is absent.
  const ResultCell& cell(const Column& column) const;
  /// Returns the text of a cell; empty if it has none.
  const std::string& text(const Column& column) const { return cell(column).text(); }
  bool matches(std::initializer_list<Text> texts) const;
  /// Returns the number in a cell, also nan, inf and -inf. @throws FormatError  if it has none.
  double number(const Column& column) const;
  /// @throws FormatError  if the cell has no integer.
  std::int64_t integer(const Column& column) const;
  /// Returns cell_text(), for headings and tables: "values", "3", "0.9; 0.8"; empty if absent.
  std::string shown(const Column& column) const { return cell_text(cell(column)); }

  bool operator==(const ResultRow&) const = default;
  std::size_t hash() const;

 private:
  const ResultCell* find(const Column& column) const;
  /// Returns the cell called `name`, appended if it is absent.
  ResultCell& place_of(std::string_view name);

  std::vector<NamedCell> cells_;
};

/// Hash of rows that are keys.
struct ResultRowHash {
  std::size_t operator()(const ResultRow& row) const { return row.hash(); }
};

std::vector<const ResultRow*> rows_with(const std::vector<ResultRow>& rows,
                                        std::initializer_list<ResultRow::Text> texts = {});

inline const ResultRow& as_row(const ResultRow& row) { return row; }
inline const ResultRow& as_row(const ResultRow* row) { return *row; }

/// Returns the distinct texts of a column, in order of first appearance.
template <typename Rows> std::vector<std::string> distinct(const Rows& rows, const Column& column) {
  std::vector<std::string> texts;
  for (const auto& row : rows) {
    const std::string& text = as_row(row).text(column);
    if (!text.empty() && std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  }
  return texts;
}

}  // namespace lime
