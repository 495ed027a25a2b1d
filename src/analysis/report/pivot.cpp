// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/pivot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/errors.h"
#include "store/results/row_json.h"

namespace lime {
namespace {

/// Returns a cell that names something, whether number or text.
const ResultCell& naming_cell(const ResultRow& row, const Column& column) {
  throw_if(!row.has(column), "table: a row has no column '{}': {}", column.name, json_text(row));
  return row.cell(column);
}

double number_or_nan(const ResultRow& row, const Column& column) {
  return row.has(column) ? row.number(column) : NAN;
}

/// The cells that all rows of a block share.
using BlockKey = std::vector<ResultCell>;

BlockKey block_key(const ResultRow& row, const TableLayout& layout) {
  BlockKey key;
  for (const Column& column : layout.block) key.push_back(naming_cell(row, column));
  return key;
}

/// Returns the place of a value, which it appends if it is new.
template <typename Value> std::size_t place_in(std::vector<Value>& values, const Value& value) {
  const auto found = std::ranges::find(values, value);
  if (found != values.end()) return static_cast<std::size_t>(found - values.begin());
  values.push_back(value);
  return values.size() - 1;
}

/// The cells of a column in order of appearance, numbers ascending.
std::vector<ResultCell> names_in(const RowPointers& rows, const Column& column) {
  std::vector<ResultCell> names;
  for (const ResultRow* row : rows) place_in(names, naming_cell(*row, column));
  if (std::ranges::all_of(names, &ResultCell::is_number)) {
    std::ranges::stable_sort(names, {}, [](const ResultCell& name) { return *name.number(); });
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

std::string block_name(const ResultRow& row, const std::vector<Column>& columns) {
  std::string name;
  for (const Column& column : columns) {
    name += (name.empty() ? "" : ", ") + cell_text(naming_cell(row, column));
  }
  return name;
}

Pivot pivot_results(const Results& results, const TableLayout& layout) {
  const RowPointers all = rows_with(results.rows);
  Pivot pivot;
  pivot.series = names_in(all, layout.series);
  std::vector<BlockKey> keys;
  for (const ResultRow* row : all) place_in(keys, block_key(*row, layout));
  for (const BlockKey& key : keys) {
    RowPointers rows;
    std::ranges::copy_if(all, std::back_inserter(rows),
                         [&](const ResultRow* row) { return block_key(*row, layout) == key; });
    const std::string name = block_name(*rows.front(), layout.block);
    PivotBlock block{layout.heading ? layout.heading(rows) : name, names_in(rows, layout.line), {}};
    block.cells.assign(block.lines.size(), RowPointers(pivot.series.size(), nullptr));
    for (const ResultRow* row : rows) {
      const ResultCell& line = naming_cell(*row, layout.line);
      const ResultCell& series = naming_cell(*row, layout.series);
      const ResultRow*& cell =
          block.cells[place_in(block.lines, line)][place_in(pivot.series, series)];
      throw_if<FormatError>(!row->has(layout.value), "table of {}: '{}', {} {}, {} '{}' has no {}",
                            results.metric, name, layout.line.name, cell_text(line),
                            layout.series.name, cell_text(series), layout.value.name);
      throw_if(cell != nullptr, "table: two rows for '{}', {} {}, {} '{}'", name, layout.line.name,
               cell_text(line), layout.series.name, cell_text(series));
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
  for (const ResultCell& series : pivot.series) {
    table.columns.push_back({.text = cell_text(series), .alignment = Alignment::kCentre});
  }
  for (const PivotBlock& block : pivot.blocks) {
    TableBlock& lines = table.blocks.emplace_back(TableBlock{.heading = block.heading});
    for (std::size_t i = 0; i < block.lines.size(); ++i) {
      TableLine& line = lines.lines.emplace_back(TableLine{.cells = {cell_text(block.lines[i])}});
      for (const ResultRow* row : block.cells[i]) {
        line.cells.push_back(row == nullptr ? TableCell() : measured_cell(*row, layout));
      }
    }
  }
  return table;
}

}  // namespace lime
