// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "store/results/columns.h"

namespace lime::testing {

/// Sets a cell to any value, as a damaged file may contain it.
inline void set_cell(ResultRow& row, const Column& column, const Json& value) {
  Json cells = row.json();
  cells[std::string(column.name)] = value;
  row = ResultRow::from_json(cells, "row");
}

}  // namespace lime::testing
