// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/report/text_table.h"
#include "core/json.h"

namespace lime {

/// One column of a table whose lines are rows of a result.
struct TableColumn {
  std::string header;
  /// The cell of a row; an empty text where the row has nothing to say.
  std::function<std::string(const Json& row)> cell;
  bool to_the_right = true;  ///< numbers stand to the right, names to the left
  /// Heading in LaTeX, as it stands there; empty: `header`.
  std::string latex_header = {};
};

/// The text under `key`, or the number with `digits` after the point; empty where it is absent.
std::function<std::string(const Json&)> text_cell(std::string key);
std::function<std::string(const Json&)> number_cell(std::string key, int digits,
                                                    double scale = 1.0);

/// All of `rows`, as tables take them.
std::vector<const Json*> pointers_to(const std::vector<Json>& rows);

/// Lines of aligned columns under their headers. Where they are wider than the style allows, the
/// columns that do not fit follow in further blocks below, behind those that tell the lines apart.
std::string columns_to_text(const std::vector<const Json*>& rows,
                            const std::vector<TableColumn>& columns, const TextStyle& style = {});

/// The same as a booktabs table with `notes` as comments above it.
/// @param starts_group  true for a row that a rule separates from the row before it; may be empty.
std::string columns_to_latex(
    const std::vector<const Json*>& rows, const std::vector<TableColumn>& columns,
    const std::vector<std::string>& notes,
    const std::function<bool(const Json&, const Json&)>& starts_group = {});

}  // namespace lime
