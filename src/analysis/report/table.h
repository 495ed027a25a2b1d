// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

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

enum class Alignment {
  kRight,   ///< numbers
  kLeft,    ///< names
  kCentre,  ///< measured cells: centred in LaTeX, their parts below each other in text
};

struct TableHead {
  std::string text;
  std::string latex = {};  ///< heading in LaTeX, already escaped; empty: `text`
  Alignment alignment = Alignment::kRight;
};

struct TableLine {
  std::vector<TableCell> cells = {};  ///< one per column
  bool has_rule = false;              ///< a rule separates it from the line before
};

struct TableBlock {
  std::string heading = {};  ///< above its lines; empty: none
  std::vector<TableLine> lines = {};
};

/// What a printer does with a table that is too wide for the terminal.
enum class TooWide {
  kMoveColumns,  ///< the columns that do not fit follow below, after those that identify the lines
  kOmitDetails,  ///< bars are omitted first, then intervals, then spreads
};

/// A table as data, which every printer shows: table_to_text(), table_to_latex(). Layouts return
/// it: column_table(), pivot_table(), name_table().
struct Table {
  std::string title = {};               ///< a line above; empty: none
  std::vector<std::string> notes = {};  ///< what the cells are, as comments of a file
  std::vector<TableHead> columns = {};
  std::vector<TableBlock> blocks = {};
  TooWide too_wide = TooWide::kMoveColumns;
};

}  // namespace lime
