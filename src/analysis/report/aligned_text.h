// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lime {

/// Texts below each other, the header first.
struct AlignedColumn {
  std::vector<std::string> cells;  ///< the last ones may be missing
  bool to_the_right = true;
};

/// Returns the width of the widest cell.
std::size_t width_of(const AlignedColumn& column);

/// Returns the lines of columns next to each other, each padded to its widest cell.
std::vector<std::string> aligned_lines(const std::vector<AlignedColumn>& columns, std::size_t gap);

/// Returns `lines`, each without the spaces at its end and with a line break.
std::string joined_lines(const std::vector<std::string>& lines);

/// Returns the columns that `text` uses on a terminal: its UTF-8 characters.
std::size_t display_width(const std::string& text);

}  // namespace lime
