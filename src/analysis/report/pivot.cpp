// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/pivot.h"

#include <algorithm>

#include "core/errors.h"

namespace lime {
namespace {

/// Text of a cell that names something, whether number or text.
std::string name_of(const Json& row, const std::string& column) {
  const auto found = row.find(column);
  if (found == row.end()) throw InvalidArgument("table: a row has no column '{}'", column);
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string block_name(const Json& row, const TableLayout& layout) {
  std::string name;
  for (const std::string& column : layout.block) {
    name += (name.empty() ? "" : ", ") + name_of(row, column);
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
std::vector<std::string> distinct(const std::vector<const Json*>& rows, const std::string& column) {
  std::vector<const Json*> first_rows;
  std::vector<std::string> names;
  for (const Json* row : rows) {
    const std::size_t known = names.size();
    index_of(names, name_of(*row, column));
    if (names.size() > known) first_rows.push_back(row);
  }
  const auto value = [&](const Json* row) -> const Json& { return row->at(column); };
  if (!std::all_of(first_rows.begin(), first_rows.end(),
                   [&](const Json* row) { return value(row).is_number(); })) {
    return names;
  }
  std::stable_sort(first_rows.begin(), first_rows.end(), [&](const Json* a, const Json* b) {
    return value(a).get<double>() < value(b).get<double>();
  });
  names.clear();
  for (const Json* row : first_rows) names.push_back(name_of(*row, column));
  return names;
}

}  // namespace

Pivot pivot_results(const Results& results, const TableLayout& layout) {
  std::vector<const Json*> all;
  for (const Json& row : results.rows) all.push_back(&row);
  Pivot pivot;
  pivot.series = distinct(all, layout.series);
  std::vector<std::string> names;
  for (const Json* row : all) index_of(names, block_name(*row, layout));
  for (const std::string& name : names) {
    std::vector<const Json*> rows;
    std::copy_if(all.begin(), all.end(), std::back_inserter(rows),
                 [&](const Json* row) { return block_name(*row, layout) == name; });
    PivotBlock block{
        layout.heading ? layout.heading(name, rows) : name, distinct(rows, layout.line), {}};
    block.cells.assign(block.lines.size(), std::vector<const Json*>(pivot.series.size(), nullptr));
    for (const Json* row : rows) {
      const std::string line = name_of(*row, layout.line);
      const std::string series = name_of(*row, layout.series);
      const Json*& cell = block.cells[index_of(block.lines, line)][index_of(pivot.series, series)];
      if (cell != nullptr) {
        throw InvalidArgument("table: two rows for '{}', {} {}, {} '{}'", name, layout.line, line,
                              layout.series, series);
      }
      cell = row;
    }
    pivot.blocks.push_back(std::move(block));
  }
  return pivot;
}

}  // namespace lime
