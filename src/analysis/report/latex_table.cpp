// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/latex_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lime {
namespace {

/// Inside $...$: infinities and NaN are words there, and a minus sign is one.
std::string number(double value, int digits) {
  if (std::isnan(value)) return "\\mathrm{nan}";
  if (std::isinf(value)) return value > 0 ? "\\infty" : "-\\infty";
  return fmt::format("{:.{}f}", value, digits);
}

std::string cell(const ResultRow* row, const TableLayout& layout) {
  if (row == nullptr) return "--";
  std::string text = number(row->number(layout.value), layout.digits);
  if (!layout.spread.is_none() && !std::isnan(row->number(layout.spread))) {
    text += " \\pm " + number(row->number(layout.spread), layout.digits);
  }
  return "$" + text + "$";
}

}  // namespace

std::string latex_comment(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return "% " + text + "\n";
}

std::string latex_escaped(const std::string& text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}':
        escaped += '\\';
        escaped += letter;
        break;
      case '~':
        escaped += "\\textasciitilde{}";
        break;
      case '^':
        escaped += "\\textasciicircum{}";
        break;
      case '\\':
        escaped += "\\textbackslash{}";
        break;
      case '\n':
      case '\r':
        escaped += ' ';
        break;
      default:
        escaped += letter;
    }
  }
  return escaped;
}

std::string results_to_latex(const Results& results, const TableLayout& layout,
                             const std::vector<std::string>& notes) {
  const Pivot pivot = pivot_results(results, layout);
  const std::size_t num_columns = pivot.series.size() + 1;
  std::string text = latex_comment("needs \\usepackage{booktabs}");
  for (const std::string& note : notes) text += latex_comment(note);
  text += latex_comment(fmt::format("cells: {}{}{}", layout.value.name,
                                    layout.spread.is_none() ? "" : " +- ", layout.spread.name));
  text +=
      fmt::format("\\begin{{tabular}}{{r{}}}\n\\toprule\n", std::string(pivot.series.size(), 'c'));
  text += latex_escaped(std::string(layout.line.name));
  for (const std::string& series : pivot.series) text += " & " + latex_escaped(series);
  text += " \\\\\n";
  for (const PivotBlock& block : pivot.blocks) {
    text += "\\midrule\n";
    text += fmt::format("\\multicolumn{{{}}}{{l}}{{\\emph{{{}}}}} \\\\\n", num_columns,
                        latex_escaped(block.heading));
    for (std::size_t line = 0; line < block.lines.size(); ++line) {
      text += latex_escaped(block.lines[line]);
      for (const ResultRow* row : block.cells[line]) text += " & " + cell(row, layout);
      text += " \\\\\n";
    }
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace lime
