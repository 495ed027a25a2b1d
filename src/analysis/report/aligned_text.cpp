// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/aligned_text.h"

#include <algorithm>

namespace lime {

std::size_t width_of(const AlignedColumn& column) {
  std::size_t width = 0;
  for (const std::string& cell : column.cells) width = std::max(width, display_width(cell));
  return width;
}

std::vector<std::string> aligned_lines(const std::vector<AlignedColumn>& columns, std::size_t gap) {
  std::size_t num_lines = 0;
  for (const AlignedColumn& column : columns) num_lines = std::max(num_lines, column.cells.size());
  std::vector<std::string> lines(num_lines);
  for (const AlignedColumn& column : columns) {
    const std::size_t width = width_of(column);
    for (std::size_t i = 0; i < num_lines; ++i) {
      const std::string cell = i < column.cells.size() ? column.cells[i] : "";
      const std::string space(width - display_width(cell), ' ');
      if (&column != &columns.front()) lines[i] += std::string(gap, ' ');
      lines[i] += column.to_the_right ? space + cell : cell + space;
    }
  }
  return lines;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char letter) { return (static_cast<unsigned char>(letter) & 0xC0) != 0x80; }));
}

}  // namespace lime
