// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <limits>

#include "store/results/result_row.h"
#include "store/results_file.h"

namespace lime {

struct TextStyle {
  /// Maximum line width in columns; files and pipes have no limit.
  int width = std::numeric_limits<int>::max();
  bool unicode = true;  ///< false: ASCII only
};

/// The rows of a result that a table shows.
using RowPointers = std::vector<const ResultRow*>;

/// A column of a table whose lines are rows of a result.
struct TableColumn {
  std::string header;
  /// Returns the cell of a row; empty if the row has no value.
  std::function<std::string(const ResultRow& row)> cell;
  bool to_the_right = true;  ///< numbers are right-aligned, names left-aligned
  /// Heading in LaTeX, unescaped; empty: `header`.
  std::string latex_header = {};
  Column source = {};  ///< column of the rows that it shows; none if it combines several
};

/// Shows the cells of `column` as they are, under `header`; empty: its name.
TableColumn table_column(const Column& column, std::string header = {});
/// Shows the numbers of `column` times `scale`, with `digits` after the point.
TableColumn number_column(const Column& column, int digits, std::string header = {},
                          double scale = 1.0);

/// Returns the columns without those whose source is in none of `rows`.
std::vector<TableColumn> present_in(const RowPointers& rows, std::vector<TableColumn> columns);

/// Returns true for a row that a rule separates from the row before it.
using StartsGroup = std::function<bool(const ResultRow& before, const ResultRow& row)>;

/// Formats aligned columns under their headers. Columns that do not fit the style's width follow in
/// further blocks, after the columns that identify the lines.
std::string columns_to_text(const RowPointers& rows, const std::vector<TableColumn>& columns,
                            const TextStyle& style = {});

/// Formats the same as a booktabs table with `notes` as comments above it.
std::string columns_to_latex(const RowPointers& rows, const std::vector<TableColumn>& columns,
                             const std::vector<std::string>& notes,
                             const StartsGroup& starts_group = {});

/// Formats a booktabs table with a line per text of the columns `lines`, under their headings, and
/// a column per name of the rows. @param cell  of the rows of one line and name
std::string names_to_latex(const Results& results,
                           const std::vector<std::pair<Column, std::string>>& lines,
                           const std::function<std::string(const RowPointers&)>& cell,
                           const std::function<std::string(const std::string& name)>& heading,
                           const std::vector<std::string>& notes);

/// Texts below each other, the header first.
struct AlignedColumn {
  std::vector<std::string> cells;  ///< the last ones may be missing
  bool to_the_right = true;
};

/// Returns the lines of columns next to each other, each padded to its widest cell.
std::vector<std::string> aligned_lines(const std::vector<AlignedColumn>& columns, std::size_t gap);

/// Returns `lines`, each without the spaces at its end and with a line break.
std::string joined_lines(const std::vector<std::string>& lines);

/// Returns the columns that `text` uses on a terminal: its UTF-8 characters.
std::size_t display_width(const std::string& text);

/// Returns the beginning of a booktabs table up to the first rule. @param columns  "rcc"
std::string latex_begin(const std::vector<std::string>& notes, const std::string& columns);
std::string latex_line(const std::vector<std::string>& cells);
inline constexpr const char* kLatexEnd = "\\bottomrule\n\\end{tabular}\n";

std::string latex_escaped(const std::string& text);

/// Selects the columns of a metric's rows for a printed table: a block per site, a line per layer,
/// the captures side by side.
struct TableLayout {
  /// Returns the heading of a block from its name and rows.
  using Heading = std::function<std::string(const std::string& name, const RowPointers& rows)>;

  std::vector<Column> block = {col::kSite};  ///< one block per combination of these columns
  Column line = col::kLayer;
  Column series = col::kLabel;
  Column value = col::kMean;
  Column spread = col::kStd;       ///< printed behind +-; may be none
  Column low = col::kCiLow;        ///< ends of the interval; none: no interval
  Column high = col::kCiHigh;      ///< as low
  Column ceiling = col::kCeiling;  ///< largest possible value, for the bars; none: no bars
  int digits = 3;                  ///< after the decimal point
  Heading heading = nullptr;       ///< empty: the block's name

  void hide_interval() { low = high = {}; }
};

struct PivotBlock {
  std::string heading;
  std::vector<std::string> lines;
  std::vector<RowPointers> cells;  ///< [line][series]; null where there is no row
};

struct Pivot {
  std::vector<std::string> series;
  std::vector<PivotBlock> blocks;
};

/// Sorts the rows of `results` into blocks, lines and series, in the order in which they first
/// appear; lines that are numbers ascend.
/// @throws InvalidArgument  if two rows fall into the same cell, or a row lacks a column.
Pivot pivot_results(const Results& results, const TableLayout& layout);

/// Returns a table for the terminal: per block a heading, then a line per layer with the captures
/// side by side: value, spread, interval and a bar from 0 to the ceiling. If a line is too wide,
/// bars are omitted first, then intervals, then spreads; a last line reports it.
std::string results_to_text(const Results& results, const TableLayout& layout,
                            const TextStyle& style = {});

/// Returns a booktabs table of value and spread, `$3.142 \pm 0.015$`, one column per capture; with
/// several blocks, each has a heading between rules. `notes` are comments above it that describe
/// the content. Requires only \usepackage{booktabs}.
std::string results_to_latex(const Results& results, const TableLayout& layout,
                             const std::vector<std::string>& notes = {});

}  // namespace lime
