// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "store/results/columns.h"
#include "store/results/matrix_rows.h"
#include "store/results/row_json.h"

namespace lime::testing {

/// Sets a cell to any value, as a damaged file may contain it.
inline void set_cell(ResultRow& row, const Column& column, const Json& value) {
  Json cells = row_to_json(row);
  cells[std::string(column.name)] = value;
  row = row_from_json(cells, "row");
}

/// Returns the lines of a table.
inline std::vector<ResultRow> table_rows(std::span<const ResultRow> rows) {
  std::vector<ResultRow> lines;
  for_each_line(rows, [&](const ResultRow& line) { lines.push_back(line); });
  return lines;
}

}  // namespace lime::testing
