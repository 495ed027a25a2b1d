// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/pivot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "core/errors.h"
#include "store/results/row_json.h"

namespace lime {
namespace {

/// Returns the text of a cell that names something, whether number or text.
std::string cell_text(const ResultRow& row, const Column& column) {
  throw_if(!row.has(column), "table: a row has no column '{}': {}", column.name, json_text(row));
  return row.shown(column);
}

double number_or_nan(const ResultRow& row, const Column& column) {
  return row.has(column) ? row.number(column) : NAN;
}

std::string block_name(const ResultRow& row, const TableLayout& layout) {
  std::string name;
  for (const Column& column : layout.block) {
    name += (name.empty() ? "" : ", ") + cell_text(row, column);
  }
  return name;
}

std::size_t index_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

/// Names in order of appearance, numbers ascending.
std::vector<std::string> names_in(const RowPointers& rows, const Column& column) {
  std::vector<std::string> names;
  std::map<std::string, double> numbers;
  for (const ResultRow* row : rows) {
    const std::string name = cell_text(*row, column);
    index_of(names, name);
    if (row->cell(column).is_number()) numbers[name] = row->number(column);
  }
  if (numbers.size() == names.size()) {
    std::ranges::stable_sort(names, {}, [&](const std::string& name) { return numbers.at(name); });
  }
  return names;
}

TableCell measured_cell(const ResultRow& row, const TableLayout& layout) {
  MeasuredCell cell{.value = row.number(layout.value), .digits = layout.digits};
  if (!layout.spread.is_none()) cell.spread = number_or_nan(row, layout.spread);
  if (!layout.low.is_none()) {
    cell.interval = std::pair(number_or_nan(row, layout.low), number_or_nan(row, layout.high));
  }
  if (!layout.ceiling.is_none()) cell.ceiling = number_or_nan(row, layout.ceiling);
  return cell;
}

}  // namespace

Pivot pivot_results(const Results& results, const TableLayout& layout) {
  const RowPointers all = rows_with(results.rows);
  Pivot pivot;
  pivot.series = names_in(all, layout.series);
  std::vector<std::string> names;
  for (const ResultRow* row : all) index_of(names, block_name(*row, layout));
  for (const std::string& name : names) {
    RowPointers rows;
    std::ranges::copy_if(all, std::back_inserter(rows),
                         [&](const ResultRow* row) { return block_name(*row, layout) == name; });
    PivotBlock block{
        layout.heading ? layout.heading(name, rows) : name, names_in(rows, layout.line), {}};
    block.cells.assign(block.lines.size(), RowPointers(pivot.series.size(), nullptr));
    for (const ResultRow* row : rows) {
      const std::string line = cell_text(*row, layout.line);
      const std::string series = cell_text(*row, layout.series);
      const ResultRow*& cell =
          block.cells[index_of(block.lines, line)][index_of(pivot.series, series)];
      throw_if<FormatError>(!row->has(layout.value), "table of {}: '{}', {} {}, {} '{}' has no {}",
                            results.metric, name, layout.line.name, line, layout.series.name,
                            series, layout.value.name);
      throw_if(cell != nullptr, "table: two rows for '{}', {} {}, {} '{}'", name, layout.line.name,
               line, layout.series.name, series);
      cell = row;
    }
    pivot.blocks.push_back(std::move(block));
  }
  return pivot;
}

Table pivot_table(const Results& results, const TableLayout& layout) {
  const Pivot pivot = pivot_results(results, layout);
  Table table{.notes = {fmt::format("cells: {}{}{}", layout.value.name,
                                    layout.spread.is_none() ? "" : " +- ", layout.spread.name)},
              .columns = {{.text = std::string(layout.line.name)}},
              .too_wide = TooWide::kOmitDetails};
  for (const std::string& series : pivot.series) {
    table.columns.push_back({.text = series, .alignment = Alignment::kCentre});
  }
  for (const PivotBlock& block : pivot.blocks) {
    TableBlock& lines = table.blocks.emplace_back(TableBlock{.heading = block.heading});
    for (std::size_t i = 0; i < block.lines.size(); ++i) {
      TableLine& line = lines.lines.emplace_back(TableLine{.cells = {block.lines[i]}});
      for (const ResultRow* row : block.cells[i]) {
        line.cells.push_back(row == nullptr ? TableCell() : measured_cell(*row, layout));
      }
    }
  }
  return table;
}

}  // namespace lime
