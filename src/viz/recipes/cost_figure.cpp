// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/cost_figure.h"

#include <array>
#include <cmath>
#include <functional>

#include "core/table_cell.h"
#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

/// A column: its header, and the content of a row's cell.
struct CostColumn {
  std::string head;
  std::function<TableCell(const FigureRow&)> cell;
  /// Omitted if all rows agree.
  bool only_if_different = false;
};

/// Returns a count with five significant digits: "1.0761 B", "69,696" below a million.
NumberCell count_cell(double value, const char* billion, const char* trillion) {
  if (value >= 1e12) return {.value = value / 1e12, .digits = 4, .unit = trillion};
  if (value >= 1e9) return {.value = value / 1e9, .digits = 5, .unit = billion};
  if (value >= 1e6) return {.value = value / 1e6, .digits = 2, .unit = " M"};
  return {.value = value, .digits = 0, .has_commas = true};
}

NumberCell bytes_cell(double bytes) {
  constexpr std::array kUnits = {" B", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024.0 && unit + 1 < kUnits.size()) {
    bytes /= 1024.0;
    ++unit;
  }
  return {.value = bytes, .digits = bytes == std::floor(bytes) ? 0 : 1, .unit = kUnits[unit]};
}

std::string decoder_name(const std::string& decoder) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kNames = {
      {{"llama", "LLaMA"},
       {"lime", "LIMe"},
       {"denseformer", "DenseFormer"},
       {"hyper_connections", "Hyper-Connections"},
       {"resformer", "ResFormer"},
       {"svformer", "SVFormer"},
       {"attn_res", "AttnRes"},
       {"mhc", "mHC"},
       {"depth_attention", "Depth-Attention"},
       {"mudd", "MUDD"}}};
  for (const auto& [key, name] : kNames) {
    if (key == decoder) return std::string(name);
  }
  return decoder;
}

std::vector<CostColumn> columns() {
  const auto number = [](const Column& column) {
    return [column](const FigureRow& row) { return NumberCell{row.number(column), 0}; };
  };
  const auto count = [](const Column& column, const char* billion) {
    return [column, billion](const FigureRow& row) {
      return count_cell(row.number(column), billion, " T");
    };
  };
  return {
      {"config", [](const FigureRow& row) { return row.text(col::kLabel); }, true},
      {"decoder", [](const FigureRow& row) { return decoder_name(row.text(col::kDecoder)); }},
      {"KV heads", number(col::kNumKeyValueHeads), true},
      {"tokens", number(col::kSequenceLength), true},
      {"parameters", count(col::kParameters, " B")},
      {"router parameters", count(col::kRouterParameters, " B")},
      {"MACs", count(col::kMultiplyAccumulates, " G")},
      {"mixing MACs",
       [](const FigureRow& row) {
         return NumberCell{100.0 * row.number(col::kMixingShare), 2, "%"};
       }},
      {"KV cache", [](const FigureRow& row) { return bytes_cell(row.number(col::kCacheBytes)); }},
  };
}

}  // namespace

Figure cost_table(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_of(sources, options);
  TablePanel table;
  table.rows.resize(rows.size());
  for (const CostColumn& column : columns()) {
    const TableCell first = column.cell(rows.front());
    const bool differs =
        std::ranges::any_of(rows, [&](const FigureRow& row) { return column.cell(row) != first; });
    if (column.only_if_different && !differs) continue;
    table.head.push_back(column.head);
    for (std::size_t r = 0; r < rows.size(); ++r) table.rows[r].push_back(column.cell(rows[r]));
  }
  Figure figure;
  figure.is_wide = true;
  const double tokens = rows.front().number(col::kSequenceLength);
  const bool has_one_length = std::ranges::all_of(
      rows, [&](const FigureRow& row) { return row.number(col::kSequenceLength) == tokens; });
  figure.note = fmt::format(
      "one forward pass over {}; KV cache in {}",
      has_one_length ? fmt::format("{:.0f} tokens", tokens) : "the given number of tokens",
      fmt::join(distinct(rows, col::kDtype), " or "));
  figure.panels.push_back({.content = std::move(table)});
  return figure;
}

}  // namespace lime
