// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/json.h"

namespace lime {

/// Content of a column's cells. A number may be NaN or infinite; numbers and matrices are arrays.
enum class CellType { kText, kInteger, kNumber, kBoolean, kNumbers, kMatrix };

/// A column of results. store/results/columns.h declares all of them.
struct Column {
  std::string_view name = {};  ///< empty: no column
  CellType type = CellType::kNumber;
  std::string_view unit = {};  ///< "nats", "bytes"; empty: none, or it depends on the row
  std::string_view meaning = {};

  bool is_none() const { return name.empty(); }
  bool operator==(const Column& other) const { return name == other.name; }
};

/// A column whose cells have the type `kType`: no other value compiles.
template <CellType kType> struct ColumnOf : Column {
  constexpr ColumnOf(std::string_view column_name, std::string_view column_meaning,
                     std::string_view column_unit = {})
      : Column{column_name, kType, column_unit, column_meaning} {}
};

using TextColumn = ColumnOf<CellType::kText>;
using IntegerColumn = ColumnOf<CellType::kInteger>;
using NumberColumn = ColumnOf<CellType::kNumber>;
using BooleanColumn = ColumnOf<CellType::kBoolean>;
using NumbersColumn = ColumnOf<CellType::kNumbers>;
using MatrixColumn = ColumnOf<CellType::kMatrix>;

/// A number and the ends of its interval: `cka`, `cka_low` and `cka_high`.
struct MeasuredColumn : NumberColumn {
  constexpr MeasuredColumn(std::string_view column_name, std::string_view low_name,
                           std::string_view high_name, std::string_view column_meaning,
                           std::string_view column_unit = {})
      : NumberColumn(column_name, column_meaning, column_unit),
        low(low_name, "lower end of the interval"),
        high(high_name, "upper end of the interval") {}
  NumberColumn low, high;
};

/// Returns `text` as a cell; bytes that are not UTF-8 become U+FFFD, as in every file.
Json text_cell_of(std::string_view text);
Json matrix_cell_of(const Eigen::MatrixXi& matrix);

/// Converts a value to the content of a cell of type `kType`; null is an empty cell.
template <CellType kType, typename T> Json cell_of(const T& value) {
  if constexpr (std::same_as<T, std::nullptr_t>) {
    return nullptr;
  } else if constexpr (kType == CellType::kText) {
    return text_cell_of(value);
  } else if constexpr (kType == CellType::kMatrix) {
    return matrix_cell_of(value);
  } else if constexpr (kType == CellType::kNumbers) {
    return std::vector<double>(value.begin(), value.end());
  } else {
    static_assert(std::is_arithmetic_v<T> && std::same_as<T, bool> == (kType == CellType::kBoolean),
                  "the value is not of the column's type");
    static_assert(kType != CellType::kInteger || std::integral<T>, "the column contains integers");
    return value;
  }
}

/// A row of results: cells under columns, in the order in which they were set.
class ResultRow {
 public:
  /// A cell of an initializer list: `ResultRow{{col::kKind, "layer"}, {col::kHead, 3}}`.
  struct Cell {
    template <CellType kType, typename T>
    Cell(const ColumnOf<kType>& column, const T& content)
        : name(column.name), value(cell_of<kType>(content)) {}
    std::string_view name;
    Json value;
  };
  /// A column and the text that it must have.
  using Text = std::pair<TextColumn, std::string_view>;

  ResultRow() = default;
  ResultRow(std::initializer_list<Cell> cells) {
    for (const Cell& cell : cells) cells_[std::string(cell.name)] = cell.value;
  }
  /// Reads a row of a file: "nan", "inf" and "-inf" become numbers, and the lists that schema 1
  /// stored as text ("0.9; 0.8") arrays. Unknown columns are kept.
  /// @throws FormatError  if it is not an object, or a cell is neither a value nor numbers.
  static ResultRow from_json(const Json& object, std::string_view where);

  template <CellType kType, typename T>
  ResultRow& set(const ColumnOf<kType>& column, const T& value) {
    cells_[std::string(column.name)] = cell_of<kType>(value);
    return *this;
  }
  /// Sets all cells of `other`; new ones follow those that are there.
  ResultRow& add(const ResultRow& other) {
    cells_.update(other.cells_);
    return *this;
  }
  void erase(const Column& column) { cells_.erase(std::string(column.name)); }

  /// Returns true if the row has the cell and it is not empty.
  bool has(const Column& column) const { return !cell(column).is_null(); }
  /// Returns the content of a cell; null if it is absent.
  const Json& cell(const Column& column) const;
  /// Returns the text of a cell; empty if it has none.
  const std::string& text(const Column& column) const;
  bool matches(std::initializer_list<Text> texts) const;
  /// Returns the number in a cell, also nan, inf and -inf. @throws FormatError  if it has none.
  double number(const Column& column) const;
  /// @throws FormatError  if the cell has no integer.
  std::int64_t integer(const Column& column) const;
  /// Returns the cell as text, for headings and tables: "values", "3", "0.9; 0.8"; empty if absent.
  std::string shown(const Column& column) const;

  /// Returns the cells as an object; NaN and infinities are doubles in it.
  const Json& json() const { return cells_; }
  std::string dump() const;
  bool operator==(const ResultRow&) const = default;

 private:
  Json cells_ = Json::object();
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

/// Returns the number in a cell, also "nan", "inf" and "-inf"; no value if it has none.
std::optional<double> number_of(const Json& cell);

/// Returns `value` with NaN and infinities replaced by the strings "nan", "inf" and "-inf".
Json results_value(const Json& value);

/// Returns a cell as one text: arrays as in spreadsheets, "0.9; 0.8" and "3 1; 0 4".
std::string cell_text(const Json& cell);

}  // namespace lime
