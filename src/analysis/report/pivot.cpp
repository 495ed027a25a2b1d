// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/pivot.h"

#include <algorithm>

#include "core/errors.h"

namespace lime {
namespace {

/// Returns the text of a cell that names something, whether number or text.
std::string cell_text(const ResultRow& row, const Column& column) {
  if (!row.has(column)) throw InvalidArgument("table: a row has no column '{}'", column.name);
  return row.shown(column);
}

std::string block_name(const ResultRow& row, const TableLayout& layout) {
  std::string name;
  for (const Column& column : layout.block) {
    name += (name.empty() ? "" : ", ") + cell_text(row, column);
  }
  return name;
}

std::size_t index_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

/// Names in order of appearance, numbers ascending.
std::vector<std::string> names_in(const std::vector<const ResultRow*>& rows, const Column& column) {
  std::vector<const ResultRow*> first_rows;
  std::vector<std::string> names;
  for (const ResultRow* row : rows) {
    const std::size_t known = names.size();
    index_of(names, cell_text(*row, column));
    if (names.size() > known) first_rows.push_back(row);
  }
  const auto value = [&](const ResultRow* row) -> const Json& { return row->cell(column); };
  if (!std::all_of(first_rows.begin(), first_rows.end(),
                   [&](const ResultRow* row) { return value(row).is_number(); })) {
    return names;
  }
  std::stable_sort(first_rows.begin(), first_rows.end(),
                   [&](const ResultRow* a, const ResultRow* b) {
                     return value(a).get<double>() < value(b).get<double>();
                   });
  names.clear();
  for (const ResultRow* row : first_rows) names.push_back(cell_text(*row, column));
  return names;
}

}  // namespace

Pivot pivot_results(const Results& results, const TableLayout& layout) {
  const std::vector<const ResultRow*> all = rows_with(results.rows);
  Pivot pivot;
  pivot.series = names_in(all, layout.series);
  std::vector<std::string> names;
  for (const ResultRow* row : all) index_of(names, block_name(*row, layout));
  for (const std::string& name : names) {
    std::vector<const ResultRow*> rows;
    std::copy_if(all.begin(), all.end(), std::back_inserter(rows),
                 [&](const ResultRow* row) { return block_name(*row, layout) == name; });
    PivotBlock block{
        layout.heading ? layout.heading(name, rows) : name, names_in(rows, layout.line), {}};
    block.cells.assign(block.lines.size(),
                       std::vector<const ResultRow*>(pivot.series.size(), nullptr));
    for (const ResultRow* row : rows) {
      const std::string line = cell_text(*row, layout.line);
      const std::string series = cell_text(*row, layout.series);
      const ResultRow*& cell =
          block.cells[index_of(block.lines, line)][index_of(pivot.series, series)];
      if (cell != nullptr) {
        throw InvalidArgument("table: two rows for '{}', {} {}, {} '{}'", name, layout.line.name,
                              line, layout.series.name, series);
      }
      cell = row;
    }
    pivot.blocks.push_back(std::move(block));
  }
  return pivot;
}

}  // namespace lime
