// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/latex_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/number_text.h"
#include "core/program/terminal.h"

namespace lime {
namespace {

/// Returns `text` on one line, without control characters, at which LaTeX stops.
std::string latex_line_of(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return escaped(text);
}

std::string latex_comment(const std::string& text) { return "% " + latex_line_of(text) + "\n"; }

/// Inside $...$: infinities and NaN are words there, and powers of ten are written as such.
std::string latex_number(double value, int digits) {
  if (std::isnan(value)) return "\\mathrm{nan}";
  if (std::isinf(value)) return value > 0 ? "\\infty" : "-\\infty";
  const auto [number, exponent] = number_text(value, digits);
  return exponent == 0 ? number : fmt::format("{} \\cdot 10^{{{}}}", number, exponent);
}

/// A number by itself; only negative ones and those with powers of ten need $...$.
std::string latex_number_alone(double value, int digits) {
  const bool is_plain =
      value >= 0.0 && std::isfinite(value) && number_text(value, digits).exponent == 0;
  const std::string number = latex_number(value, digits);
  return is_plain ? number : "$" + number + "$";
}

std::string latex_interval(const IntervalCell& cell) {
  if (std::isnan(cell.low) && std::isnan(cell.high)) return "";
  return fmt::format("$[{}, {}]$", latex_number(cell.low, cell.digits),
                     latex_number(cell.high, cell.digits));
}

std::string latex_cell(const TableCell& cell) {
  if (const auto* const text = std::get_if<std::string>(&cell)) return latex_escaped(*text);
  if (const auto* const number = std::get_if<NumberCell>(&cell)) {
    return latex_escaped(number->mark) + latex_number_alone(number->value, number->digits) +
           latex_escaped(number->unit);
  }
  if (const auto* const interval = std::get_if<IntervalCell>(&cell)) {
    return latex_interval(*interval);
  }
  if (std::holds_alternative<ShadedCell>(cell)) return "";
  const auto* const measured = std::get_if<MeasuredCell>(&cell);
  if (measured == nullptr) return "--";
  const bool has_spread = measured->spread && !std::isnan(*measured->spread);
  if (has_spread && measured->spread_form == SpreadForm::kParentheses) {
    return fmt::format("{} ({})", latex_number_alone(measured->value, measured->digits),
                       latex_number_alone(*measured->spread, measured->digits));
  }
  std::string text = latex_number(measured->value, measured->digits);
  if (has_spread) text += " \\pm " + latex_number(*measured->spread, measured->digits);
  const auto& interval = measured->interval;
  if (!measured->spread && interval && !std::isnan(interval->first)) {
    text += fmt::format("\\ [{}, {}]", latex_number(interval->first, measured->digits),
                        latex_number(interval->second, measured->digits));
  }
  return "$" + text + "$";
}

char latex_side(Alignment alignment) {
  switch (alignment) {
    case Alignment::kRight: return 'r';
    case Alignment::kLeft: return 'l';
    case Alignment::kCentre: break;
  }
  return 'c';
}

std::string latex_line(const std::vector<std::string>& cells) {
  return fmt::format("{} \\\\\n", fmt::join(cells, " & "));
}

/// Returns the table up to its first rule.
std::string latex_head(const Table& table, const std::vector<std::string>& notes) {
  std::string text = latex_comment("needs \\usepackage{booktabs}");
  for (const std::string& note : notes) text += latex_comment(note);
  for (const std::string& note : table.notes) text += latex_comment(note);
  if (!table.title.empty()) text += latex_comment(table.title);
  std::string sides;
  std::vector<std::string> cells;
  for (const TableHead& head : table.columns) {
    sides += latex_side(head.alignment);
    cells.push_back(head.latex.empty() ? latex_escaped(head.text) : head.latex);
  }
  return text + "\\begin{tabular}{" + sides + "}\n\\toprule\n" + latex_line(cells);
}

}  // namespace

std::string table_to_latex(const Table& table, const std::vector<std::string>& notes) {
  std::string text = latex_head(table, notes);
  for (const TableBlock& block : table.blocks) {
    text += "\\midrule\n";
    if (!block.heading.empty()) {
      text += fmt::format("\\multicolumn{{{}}}{{l}}{{\\emph{{{}}}}} \\\\\n", table.columns.size(),
                          latex_escaped(block.heading));
    }
    for (const TableLine& line : block.lines) {
      if (line.has_rule) text += "\\midrule\n";
      std::vector<std::string> cells;
      std::ranges::transform(line.cells, std::back_inserter(cells), latex_cell);
      text += latex_line(cells);
    }
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

std::string latex_escaped(const std::string& text) {
  std::string latex;
  for (const char letter : latex_line_of(text)) {
    if (std::string_view("&%$#_{}").find(letter) != std::string_view::npos) {
      latex += {'\\', letter};
    } else if (letter == '~') {
      latex += "\\textasciitilde{}";
    } else if (letter == '^') {
      latex += "\\textasciicircum{}";
    } else if (letter == '\\') {
      latex += "\\textbackslash{}";
    } else {
      latex += letter;
    }
  }
  return latex;
}

}  // namespace lime
