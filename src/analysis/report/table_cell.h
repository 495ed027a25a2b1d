// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/matrix.h"

namespace lime {

/// A number as decimal_text() shows it.
struct NumberCell {
  double value = std::numeric_limits<double>::quiet_NaN();
  int digits = 3;         ///< after the decimal point
  std::string unit = {};  ///< behind it: "%", " G"
};

/// An interval; the ends are NaN where a line has none.
struct IntervalCell {
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = low;
  int digits = 3;  ///< after the decimal point
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
};

/// Values from 0 to 1, each shown as one shade. Formats without shades leave the cell empty.
struct ShadedCell {
  VectorD values;
};

/// The content of a cell; std::monostate where a table has none.
using TableCell =
    std::variant<std::monostate, std::string, NumberCell, IntervalCell, MeasuredCell, ShadedCell>;

}  // namespace lime
