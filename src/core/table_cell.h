// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/matrix.h"

namespace lime {

/// A number as decimal_text() shows it.
struct NumberCell {
  double value = std::numeric_limits<double>::quiet_NaN();
  int digits = 3;           ///< after the decimal point
  std::string unit = {};    ///< behind it: "%", " G"
  std::string mark = {};    ///< before it: "!"
  bool has_commas = false;  ///< between thousands; `digits` is 0

  bool operator==(const NumberCell&) const = default;
};

/// An interval; the ends are NaN where a line has none.
struct IntervalCell {
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = low;
  int digits = 3;  ///< after the decimal point

  bool operator==(const IntervalCell&) const = default;
};

enum class SpreadForm { kPlusMinus, kParentheses };

/// A value and the numbers around it. A printer shows as many of them as fit. A part is nullopt
/// if the table does not show it, and NaN if this cell lacks it.
struct MeasuredCell {
  double value = std::numeric_limits<double>::quiet_NaN();
  std::optional<double> spread = std::nullopt;
  std::optional<std::pair<double, double>> interval = std::nullopt;  ///< its ends
  std::optional<double> ceiling = std::nullopt;  ///< largest possible value, for a bar from 0
  int digits = 3;                                ///< after the decimal point
  SpreadForm spread_form = SpreadForm::kPlusMinus;

  bool operator==(const MeasuredCell&) const = default;
};

/// Values from 0 to 1, each shown as one shade. Formats without shades leave the cell empty.
struct ShadedCell {
  VectorD values;

  bool operator==(const ShadedCell& other) const {
    return values.size() == other.values.size() && values == other.values;
  }
};

/// The content of a cell; std::monostate where a table has none.
using TableCell =
    std::variant<std::monostate, std::string, NumberCell, IntervalCell, MeasuredCell, ShadedCell>;

/// The two signs that not every terminal has.
struct CellSigns {
  std::string_view plus_minus = "\u00b1";
  std::string_view dash = "\u2013";  ///< of an empty cell
};

/// Parts of measured cells: "+- 0.2", "(0.2)" and "[0.1, 0.3]"; empty if they are NaN.
std::string spread_text(const MeasuredCell& cell, const CellSigns& signs = {});
std::string interval_text(double low, double high, int digits);

std::string number_text(const NumberCell& cell);

/// Returns a cell as one text with all that it has but bars and shades: "61.0 +- 2.2".
std::string cell_text(const TableCell& cell, const CellSigns& signs = {});

}  // namespace lime
