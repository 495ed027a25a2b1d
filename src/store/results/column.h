// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

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

}  // namespace lime
