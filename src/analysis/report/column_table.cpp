// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/column_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "analysis/report/latex_table.h"
#include "core/program/terminal.h"
#include "store/results_file.h"

namespace lime {
namespace {

constexpr std::size_t kGap = 2;

bool is_present(const Json& row, const std::string& key) {
  const auto found = row.find(key);
  return found != row.end() && !found->is_null();
}

/// Cells of a table, header first, and the widths of its columns.
struct CellGrid {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::size_t> widths;

  std::size_t num_columns() const { return widths.size(); }
};

CellGrid make_grid(const std::vector<const Json*>& rows, const std::vector<TableColumn>& columns) {
  CellGrid grid;
  grid.lines.resize(rows.size() + 1);
  for (const TableColumn& column : columns) {
    grid.lines[0].push_back(column.header);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      grid.lines[i + 1].push_back(escaped(column.cell(*rows[i])));
    }
    std::size_t width = 0;
    for (const auto& line : grid.lines) width = std::max(width, display_width(line.back()));
    grid.widths.push_back(width);
  }
  return grid;
}

/// Returns the smallest number of leading columns that identify each line. Returns 1 if none do, or
/// if they leave less than half of `width` to the others.
std::size_t num_key_columns(const CellGrid& grid, std::size_t width) {
  std::size_t used = 0;
  for (std::size_t count = 1; count < grid.num_columns(); ++count) {
    used += grid.widths[count - 1] + kGap;
    if (used > width / 2) break;
    std::set<std::vector<std::string>> seen;
    for (std::size_t i = 1; i < grid.lines.size(); ++i) {
      const auto begin = grid.lines[i].begin();
      seen.insert({begin, begin + static_cast<std::ptrdiff_t>(count)});
    }
    if (seen.size() == grid.lines.size() - 1) return count;
  }
  return 1;
}

/// Distributes the columns over blocks that fit into `width`, each starting with the key columns. A
/// column that fits nowhere gets its own block.
std::vector<std::vector<std::size_t>> blocks_of(const CellGrid& grid, std::size_t width) {
  const std::size_t keys = num_key_columns(grid, width);
  std::vector<std::size_t> key_columns(std::min(keys, grid.num_columns()));
  std::iota(key_columns.begin(), key_columns.end(), std::size_t{0});
  std::size_t key_width = 0;
  for (const std::size_t column : key_columns) key_width += grid.widths[column] + kGap;
  std::vector<std::vector<std::size_t>> blocks = {key_columns};
  std::size_t used = key_width;
  for (std::size_t column = keys; column < grid.num_columns(); ++column) {
    if (used + grid.widths[column] > width && blocks.back().size() > keys) {
      blocks.push_back(key_columns);
      used = key_width;
    }
    blocks.back().push_back(column);
    used += grid.widths[column] + kGap;
  }
  return blocks;
}

}  // namespace

std::function<std::string(const Json&)> text_cell(std::string key) {
  return [key = std::move(key)](const Json& row) -> std::string {
    if (!is_present(row, key)) return "";
    const Json& value = row.at(key);
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
}

std::function<std::string(const Json&)> number_cell(std::string key, int digits, double scale) {
  return [key = std::move(key), digits, scale](const Json& row) -> std::string {
    if (!is_present(row, key)) return "";
    return fmt::format("{:.{}f}", results_number(row, key) * scale, digits);
  };
}

std::vector<const Json*> pointers_to(const std::vector<Json>& rows) {
  std::vector<const Json*> pointers;
  pointers.reserve(rows.size());
  for (const Json& row : rows) pointers.push_back(&row);
  return pointers;
}

std::string columns_to_text(const std::vector<const Json*>& rows,
                            const std::vector<TableColumn>& columns, const TextStyle& style) {
  const CellGrid grid = make_grid(rows, columns);
  std::string text;
  for (const auto& block : blocks_of(grid, static_cast<std::size_t>(std::max(style.width, 1)))) {
    if (!text.empty()) text += "\n";
    for (const auto& line : grid.lines) {
      std::string joined;
      for (const std::size_t column : block) {
        if (column > 0) joined += std::string(kGap, ' ');
        joined += padded(line[column], grid.widths[column], columns[column].to_the_right);
      }
      joined.erase(joined.find_last_not_of(' ') + 1);
      text += joined + "\n";
    }
  }
  return text;
}

std::string columns_to_latex(const std::vector<const Json*>& rows,
                             const std::vector<TableColumn>& columns,
                             const std::vector<std::string>& notes,
                             const std::function<bool(const Json&, const Json&)>& starts_group) {
  std::string text = latex_comment("needs \\usepackage{booktabs}");
  for (const std::string& note : notes) text += latex_comment(note);
  text += "\\begin{tabular}{";
  for (const TableColumn& column : columns) text += column.to_the_right ? 'r' : 'l';
  text += "}\n\\toprule\n";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const TableColumn& column = columns[i];
    text += i == 0 ? "" : " & ";
    text += column.latex_header.empty() ? latex_escaped(column.header) : column.latex_header;
  }
  text += " \\\\\n\\midrule\n";
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (row > 0 && starts_group && starts_group(*rows[row - 1], *rows[row])) text += "\\midrule\n";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      text += (i == 0 ? "" : " & ") + latex_escaped(columns[i].cell(*rows[row]));
    }
    text += " \\\\\n";
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace lime
