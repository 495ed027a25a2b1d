// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>

#include "analysis/report/table.h"

namespace lime {

struct TextStyle {
  /// Maximum line width in columns; files and pipes have no limit.
  int width = std::numeric_limits<int>::max();
  bool unicode = true;  ///< false: ASCII only
};

/// Returns a table for the terminal: aligned columns under their headers, a heading above each
/// block. A table that is too wide moves columns or omits details (`Table::too_wide`); a last line
/// reports what it omits.
std::string table_to_text(const Table& table, const TextStyle& style = {});

}  // namespace lime
