// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/table_columns.h"

#include <algorithm>

namespace lime {

TableColumn table_column(const Column& column, std::string header) {
  return {.header = header.empty() ? std::string(column.name) : std::move(header),
          .cell = [column](const ResultRow& row) { return row.shown(column); },
          .to_the_right = column.type != CellType::kText,
          .source = column};
}

TableColumn number_column(const Column& column, int digits, std::string header, double scale) {
  TableColumn table = table_column(column, std::move(header));
  table.cell = [column, digits, scale](const ResultRow& row) -> TableCell {
    if (!row.has(column)) return "";
    return NumberCell{row.number(column) * scale, digits};
  };
  return table;
}

std::vector<TableColumn> present_in(const RowPointers& rows, std::vector<TableColumn> columns) {
  std::erase_if(columns, [&](const TableColumn& column) {
    return !rows.empty() && !column.source.is_none() &&
           std::ranges::none_of(rows,
                                [&](const ResultRow* row) { return row->has(column.source); });
  });
  return columns;
}

Table column_table(const RowPointers& rows, const std::vector<TableColumn>& columns,
                   const StartsGroup& starts_group) {
  Table table;
  for (const TableColumn& column : columns) {
    table.columns.push_back({column.header, column.latex_header,
                             column.to_the_right ? Alignment::kRight : Alignment::kLeft});
  }
  TableBlock& block = table.blocks.emplace_back();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    TableLine& line = block.lines.emplace_back();
    line.has_rule = i > 0 && starts_group && starts_group(*rows[i - 1], *rows[i]);
    for (const TableColumn& column : columns) line.cells.push_back(column.cell(*rows[i]));
  }
  return table;
}

Table name_table(const std::vector<ResultRow>& rows,
                 const std::vector<std::pair<Column, std::string>>& lines,
                 const std::function<TableCell(const RowPointers&)>& cell,
                 const std::function<std::string(const std::string& name)>& heading) {
  const auto is_of_line = [&](const ResultRow& row, const ResultRow& line) {
    return std::ranges::all_of(
        lines, [&](const auto& key) { return row.cell(key.first) == line.cell(key.first); });
  };
  RowPointers first_rows;
  for (const ResultRow& row : rows) {
    if (std::ranges::none_of(first_rows, [&](auto* line) { return is_of_line(row, *line); })) {
      first_rows.push_back(&row);
    }
  }
  std::vector<TableColumn> columns;
  for (const auto& [column, header] : lines) columns.push_back(table_column(column, header));
  for (const std::string& name : distinct(rows, col::kName)) {
    const auto cell_of = [&, name](const ResultRow& line) {
      RowPointers own = rows_with(rows, {{col::kName, name}});
      std::erase_if(own, [&](const ResultRow* row) { return !is_of_line(*row, line); });
      return own.empty() ? TableCell("") : cell(own);
    };
    columns.push_back({.header = name, .cell = cell_of, .latex_header = heading(name)});
  }
  return column_table(first_rows, columns);
}

}  // namespace lime
