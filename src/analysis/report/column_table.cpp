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

namespace lime {
namespace {

constexpr std::size_t kGap = 2;

/// Cells of a table, header first, and the widths of its columns.
struct CellGrid {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::size_t> widths;

  std::size_t num_columns() const { return widths.size(); }
};

CellGrid make_grid(const std::vector<const ResultRow*>& rows,
                   const std::vector<TableColumn>& columns) {
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

TableColumn table_column(const Column& column, std::string header) {
  return {.header = header.empty() ? std::string(column.name) : std::move(header),
          .cell = [column](const ResultRow& row) { return row.shown(column); },
          .to_the_right = column.type != CellType::kText,
          .source = column};
}

TableColumn number_column(const Column& column, int digits, std::string header, double scale) {
  TableColumn table = table_column(column, std::move(header));
  table.cell = [column, digits, scale](const ResultRow& row) -> std::string {
    if (!row.has(column)) return "";
    return fmt::format("{:.{}f}", row.number(column) * scale, digits);
  };
  return table;
}

std::vector<TableColumn> present_in(const std::vector<const ResultRow*>& rows,
                                    std::vector<TableColumn> columns) {
  std::erase_if(columns, [&](const TableColumn& column) {
    return !rows.empty() && !column.source.is_none() &&
           std::none_of(rows.begin(), rows.end(),
                        [&](const ResultRow* row) { return row->has(column.source); });
  });
  return columns;
}

std::string columns_to_text(const std::vector<const ResultRow*>& rows,
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

std::string columns_to_latex(const std::vector<const ResultRow*>& rows,
                             const std::vector<TableColumn>& columns,
                             const std::vector<std::string>& notes,
                             const StartsGroup& starts_group) {
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
