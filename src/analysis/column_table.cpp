// SPDX-License-Identifier: Apache-2.0
#include "analysis/column_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/latex_table.h"
#include "store/results_file.h"

namespace lime {
namespace {

constexpr std::size_t kGap = 2;

std::string padded(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string space(width - std::min(width, display_width(text)), ' ');
  return to_the_right ? space + text : text + space;
}

bool is_present(const Json& row, const std::string& key) {
  const auto found = row.find(key);
  return found != row.end() && !found->is_null();
}

/// A comment must not break off into the table.
std::string comment(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return "% " + text + "\n";
}

/// How many columns, the first ones, fit into `width`; at least one.
std::size_t columns_that_fit(const std::vector<std::size_t>& widths, int width) {
  std::size_t used = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    used += widths[i] + (i == 0 ? 0 : kGap);
    if (used > static_cast<std::size_t>(std::max(width, 0))) return std::max<std::size_t>(i, 1);
  }
  return widths.size();
}

}  // namespace

std::function<std::string(const Json&)> text_cell(std::string key) {
  return [key = std::move(key)](const Json& row) -> std::string {
    if (!is_present(row, key)) return "";
    const Json& value = row.at(key);
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
}

std::function<std::string(const Json&)> number_cell(std::string key, int digits, double scale) {
  return [key = std::move(key), digits, scale](const Json& row) -> std::string {
    if (!is_present(row, key)) return "";
    return fmt::format("{:.{}f}", results_number(row, key) * scale, digits);
  };
}

std::string columns_to_text(const std::vector<const Json*>& rows,
                            const std::vector<TableColumn>& columns, const TextStyle& style) {
  std::vector<std::vector<std::string>> lines(rows.size() + 1);
  std::vector<std::size_t> widths;
  for (const TableColumn& column : columns) {
    lines[0].push_back(column.header);
    for (std::size_t i = 0; i < rows.size(); ++i) lines[i + 1].push_back(column.cell(*rows[i]));
    std::size_t width = 0;
    for (const auto& line : lines) width = std::max(width, display_width(line.back()));
    widths.push_back(width);
  }
  const std::size_t shown = columns_that_fit(widths, style.width);
  std::string text;
  for (const auto& line : lines) {
    std::string joined;
    for (std::size_t i = 0; i < shown; ++i) {
      if (i > 0) joined += std::string(kGap, ' ');
      joined += padded(line[i], widths[i], columns[i].to_the_right);
    }
    joined.erase(joined.find_last_not_of(' ') + 1);
    text += joined + "\n";
  }
  return text;
}

std::string columns_to_latex(const std::vector<const Json*>& rows,
                             const std::vector<TableColumn>& columns,
                             const std::vector<std::string>& notes,
                             const std::function<bool(const Json&, const Json&)>& starts_group) {
  std::string text = comment("needs \\usepackage{booktabs}");
  for (const std::string& note : notes) text += comment(note);
  text += "\\begin{tabular}{";
  for (const TableColumn& column : columns) text += column.to_the_right ? 'r' : 'l';
  text += "}\n\\toprule\n";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const TableColumn& column = columns[i];
    text += i == 0 ? "" : " & ";
    text += column.latex_header.empty() ? latex_escaped(column.header) : column.latex_header;
  }
  text += " \\\\\n\\midrule\n";
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (row > 0 && starts_group && starts_group(*rows[row - 1], *rows[row])) text += "\\midrule\n";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      text += (i == 0 ? "" : " & ") + latex_escaped(columns[i].cell(*rows[row]));
    }
    text += " \\\\\n";
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace lime
