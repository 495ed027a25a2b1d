// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/table.h"
#include "store/results/result_row.h"

namespace lime {

/// The rows of a result that a table shows.
using RowPointers = std::vector<const ResultRow*>;

/// A column of a table whose lines are rows of a result.
struct TableColumn {
  std::string header;
  /// Returns the cell of a row; an empty text if the row has no value.
  std::function<TableCell(const ResultRow& row)> cell;
  bool to_the_right = true;  ///< numbers are right-aligned, names left-aligned
  /// Heading in LaTeX, already escaped; empty: `header`.
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

/// Returns a table with one line per row.
Table column_table(const RowPointers& rows, const std::vector<TableColumn>& columns,
                   const StartsGroup& starts_group = {});

/// Returns a table with a line per text of the columns `lines`, under their headings, and a column
/// per name of the rows. @param cell  of the rows of one line and name
/// @param heading  of a name, in LaTeX
Table name_table(const std::vector<ResultRow>& rows,
                 const std::vector<std::pair<Column, std::string>>& lines,
                 const std::function<TableCell(const RowPointers&)>& cell,
                 const std::function<std::string(const std::string& name)>& heading);

}  // namespace lime
