// SPDX-License-Identifier: Apache-2.0
#include "core/table_cell.h"

#include <fmt/format.h>

#include <cmath>

#include "core/number_text.h"

namespace lime {
namespace {

/// Makes the text of a cell, by its type.
struct CellPrinter {
  const CellSigns& signs;

  std::string operator()(std::monostate) const { return std::string(signs.dash); }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const NumberCell& cell) const { return number_text(cell); }
  std::string operator()(const IntervalCell& cell) const {
    return interval_text(cell.low, cell.high, cell.digits);
  }
  std::string operator()(const MeasuredCell& cell) const {
    std::string text = decimal_text(cell.value, cell.digits);
    const auto add = [&](const std::string& part) {
      if (!part.empty()) text += " " + part;
    };
    if (cell.spread) add(spread_text(cell, signs));
    if (cell.interval) add(interval_text(cell.interval->first, cell.interval->second, cell.digits));
    return text;
  }
  std::string operator()(const ShadedCell&) const { return ""; }
};

}  // namespace

std::string spread_text(const MeasuredCell& cell, const CellSigns& signs) {
  if (std::isnan(*cell.spread)) return "";
  const std::string number = decimal_text(*cell.spread, cell.digits);
  if (cell.spread_form == SpreadForm::kParentheses) return "(" + number + ")";
  return fmt::format("{} {}", signs.plus_minus, number);
}

std::string interval_text(double low, double high, int digits) {
  if (std::isnan(low) && std::isnan(high)) return "";
  return fmt::format("[{}, {}]", decimal_text(low, digits), decimal_text(high, digits));
}

std::string number_text(const NumberCell& cell) {
  const std::string number =
      cell.has_commas ? with_commas(cell.value) : decimal_text(cell.value, cell.digits);
  return cell.mark + number + cell.unit;
}

std::string cell_text(const TableCell& cell, const CellSigns& signs) {
  return std::visit(CellPrinter{signs}, cell);
}

}  // namespace lime
