// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/report/text_table.h"
#include "core/json.h"

namespace lime {

/// A column of a table whose lines are rows of a result.
struct TableColumn {
  std::string header;
  /// Returns the cell of a row; empty if the row has no value.
  std::function<std::string(const Json& row)> cell;
  bool to_the_right = true;  ///< numbers are right-aligned, names left-aligned
  /// Heading in LaTeX, unescaped; empty: `header`.
  std::string latex_header = {};
};

/// The text under `key`, or the number with `digits` after the point; empty where it is absent.
std::function<std::string(const Json&)> text_cell(std::string key);
std::function<std::string(const Json&)> number_cell(std::string key, int digits,
                                                    double scale = 1.0);

/// Returns pointers to all `rows`, as used by tables.
std::vector<const Json*> pointers_to(const std::vector<Json>& rows);

/// Formats aligned columns under their headers. Columns that do not fit the style's width follow in
/// further blocks, after the columns that identify the lines.
std::string columns_to_text(const std::vector<const Json*>& rows,
                            const std::vector<TableColumn>& columns, const TextStyle& style = {});

/// Formats the same as a booktabs table with `notes` as comments above it.
/// @param starts_group  true for a row that a rule separates from the row before it; may be empty.
std::string columns_to_latex(
    const std::vector<const Json*>& rows, const std::vector<TableColumn>& columns,
    const std::vector<std::string>& notes,
    const std::function<bool(const Json&, const Json&)>& starts_group = {});

}  // namespace lime
