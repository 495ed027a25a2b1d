// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/table_cell.h"

namespace lime {

/// Table in booktabs style: rules above, below the header, and below.
struct TablePanel {
  std::vector<std::string> head;
  std::vector<std::vector<TableCell>> rows;
  std::vector<int> rules = {};  ///< thin lines before these rows
};

}  // namespace lime
