// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/table_cell.h"

namespace lime {

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
