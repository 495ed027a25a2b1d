// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/qualifiers.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "store/results/columns.h"

namespace lime {
namespace {

/// A column that tells measurements apart.
struct Qualifier {
  Column column;
  std::string_view before = {};  ///< words before its content in a name
};

constexpr auto kQualifiers = std::to_array<Qualifier>({
    {col::kAlpha, "alpha "},
    {col::kPreset},
    {col::kMethod},
    {col::kLabels},
    {col::kTask},
    {col::kName},
    {col::kRouter},
    {col::kPart},
    {col::kWeighting},
    {col::kRead},
    {col::kHead, "head "},
    {col::kPosition, "position "},
    {col::kOtherLayer, "other_layer "},
    {col::kOver, "over "},
});

bool is_qualified_by(const ResultRow& row, const Column& column) {
  if (!row.has(column)) return false;
  if (column == Column(col::kName)) return !row.has(col::kTask);  // which it repeats
  return column != Column(col::kOver) || row.text(col::kOver) != "sequences";
}

}  // namespace

ResultRow qualifying_cells(const ResultRow& row) {
  ResultRow cells;
  for (const Qualifier& qualifier : kQualifiers) {
    if (!is_qualified_by(row, qualifier.column)) continue;
    cells.set_cell(qualifier.column.name, row.cell(qualifier.column));
  }
  return cells;
}

std::string qualifiers_of(const ResultRow& row) {
  std::string text;
  for (const auto& [column, before] : kQualifiers) {
    if (is_qualified_by(row, column)) text += fmt::format(", {}{}", before, row.shown(column));
  }
  return text;
}

}  // namespace lime
