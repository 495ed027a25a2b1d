// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/report/text_table.h"
#include "store/results/result_row.h"

namespace lime {

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
std::vector<TableColumn> present_in(const std::vector<const ResultRow*>& rows,
                                    std::vector<TableColumn> columns);

/// Returns true for a row that a rule separates from the row before it.
using StartsGroup = std::function<bool(const ResultRow& before, const ResultRow& row)>;

/// Formats aligned columns under their headers. Columns that do not fit the style's width follow in
/// further blocks, after the columns that identify the lines.
std::string columns_to_text(const std::vector<const ResultRow*>& rows,
                            const std::vector<TableColumn>& columns, const TextStyle& style = {});

/// Formats the same as a booktabs table with `notes` as comments above it.
std::string columns_to_latex(const std::vector<const ResultRow*>& rows,
                             const std::vector<TableColumn>& columns,
                             const std::vector<std::string>& notes,
                             const StartsGroup& starts_group = {});

}  // namespace lime
