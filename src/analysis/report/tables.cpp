// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/tables.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>

#include "core/errors.h"
#include "core/number_text.h"
#include "core/program/terminal.h"
#include "store/results/row_json.h"

namespace lime {
namespace {

constexpr int kBarWidth = 12;
constexpr const char* kFullBlock = "\u2588";
constexpr const char* kMiddleDot = "\u00b7";
constexpr const char* kDash = "\u2013";
constexpr const char* kPlusMinus = "\u00b1 ";

/// Parts of a cell that are shown, from all to the value alone.
enum class Detail { kBar, kInterval, kSpread, kValue };

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

std::string bar(double share, bool unicode) {
  share = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
  if (!unicode) {
    const auto filled = static_cast<std::size_t>(std::lround(share * kBarWidth));
    return std::string(filled, '#') + std::string(kBarWidth - filled, '.');
  }
  // Blocks of one to seven eighths, U+258F down to U+2589.
  static constexpr std::array<const char*, 8> kEighths = {"",       "\u258f", "\u258e", "\u258d",
                                                          "\u258c", "\u258b", "\u258a", "\u2589"};
  const auto eighths = static_cast<std::size_t>(std::lround(share * kBarWidth * 8));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i) text += kFullBlock;
  text += kEighths[eighths % 8];
  std::size_t shown = eighths / 8 + (eighths % 8 == 0 ? 0 : 1);
  for (; shown < kBarWidth; ++shown) text += kMiddleDot;
  return text;
}

/// The value's parts as columns of their own, so that they align over the lines.
std::vector<std::string> parts_of(const ResultRow* row, const TableLayout& layout, Detail detail,
                                  bool unicode) {
  if (row == nullptr) return {unicode ? kDash : "-"};
  const auto read = [&](const Column& column) { return number_or_nan(*row, column); };
  std::vector<std::string> parts = {decimal_text(read(layout.value), layout.digits)};
  if (detail <= Detail::kSpread && !layout.spread.is_none()) {
    const double spread = read(layout.spread);
    parts.push_back(std::isnan(spread)
                        ? ""
                        : (unicode ? kPlusMinus : "+- ") + decimal_text(spread, layout.digits));
  }
  if (detail <= Detail::kInterval && !layout.low.is_none()) {
    const double low = read(layout.low);
    const double high = read(layout.high);
    const bool none = std::isnan(low) && std::isnan(high);
    parts.push_back(none ? ""
                         : fmt::format("[{}, {}]", decimal_text(low, layout.digits),
                                       decimal_text(high, layout.digits)));
  }
  if (detail == Detail::kBar && !layout.ceiling.is_none()) {
    parts.push_back(bar(read(layout.value) / read(layout.ceiling), unicode));
  }
  return parts;
}

/// Returns the column of one series: the parts of its cells, aligned.
AlignedColumn series_column(const PivotBlock& block, const Pivot& pivot, std::size_t series,
                            const TableLayout& layout, Detail detail, bool unicode) {
  std::vector<AlignedColumn> parts;
  for (std::size_t line = 0; line < block.lines.size(); ++line) {
    const auto cell = parts_of(block.cells[line][series], layout, detail, unicode);
    parts.resize(std::max(parts.size(), cell.size()));
    for (std::size_t i = 0; i < cell.size(); ++i) {
      parts[i].cells.resize(line);
      parts[i].cells.push_back(cell[i]);
    }
  }
  AlignedColumn column{{escaped(pivot.series[series])}, false};
  for (std::string& line : aligned_lines(parts, 1)) column.cells.push_back(std::move(line));
  return column;
}

std::string format_block(const PivotBlock& block, const Pivot& pivot, const TableLayout& layout,
                         const TextStyle& style, Detail detail) {
  std::vector<AlignedColumn> columns = {{{std::string(layout.line.name)}, true}};
  for (const std::string& line : block.lines) columns.front().cells.push_back(escaped(line));
  for (std::size_t series = 0; series < pivot.series.size(); ++series) {
    const bool is_there =
        std::ranges::any_of(block.cells, [&](const auto& line) { return line[series] != nullptr; });
    if (!is_there) continue;  // a column of dashes
    columns.push_back(series_column(block, pivot, series, layout, detail, style.unicode));
  }
  return joined_lines(aligned_lines(columns, 3));
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    widest = std::max(widest, display_width(text.substr(start, end - start)));
    start = end + 1;
  }
  return widest;
}

std::string format_all(const Pivot& pivot, const TableLayout& layout, const TextStyle& style,
                       Detail detail) {
  std::string text;
  for (const PivotBlock& block : pivot.blocks) {
    text += (text.empty() ? "" : "\n") + escaped(block.heading) + "\n";
    text += format_block(block, pivot, layout, style, detail);
  }
  return text;
}

/// A line that names the numbers which `detail` leaves out; empty where it shows them all.
std::string left_out(const Results& results, const TableLayout& layout, Detail detail) {
  const auto is_there = [&](const Column& column) {
    return std::ranges::any_of(results.rows, [&](const ResultRow& row) { return row.has(column); });
  };
  std::string names;
  if (detail > Detail::kSpread && is_there(layout.spread)) names = "spreads";
  if (detail > Detail::kInterval && is_there(layout.low)) {
    names += names.empty() ? "intervals" : " and intervals";
  }
  if (names.empty()) return "";
  return fmt::format("({} omitted, too wide for this terminal; see --format csv)\n", names);
}

/// Inside $...$: infinities and NaN are words there, and powers of ten are written as such.
std::string latex_number(double value, int digits) {
  if (std::isnan(value)) return "\\mathrm{nan}";
  if (std::isinf(value)) return value > 0 ? "\\infty" : "-\\infty";
  const auto [number, exponent] = number_text(value, digits);
  return exponent == 0 ? number : fmt::format("{} \\cdot 10^{{{}}}", number, exponent);
}

std::string latex_cell(const ResultRow* row, const TableLayout& layout) {
  if (row == nullptr) return "--";
  std::string text = latex_number(row->number(layout.value), layout.digits);
  const double spread = number_or_nan(*row, layout.spread);
  if (!std::isnan(spread)) text += " \\pm " + latex_number(spread, layout.digits);
  return "$" + text + "$";
}

constexpr std::size_t kGap = 2;

std::size_t width_of(const AlignedColumn& column) {
  std::size_t width = 0;
  for (const std::string& cell : column.cells) width = std::max(width, display_width(cell));
  return width;
}

std::vector<AlignedColumn> cells_of(const RowPointers& rows,
                                    const std::vector<TableColumn>& columns) {
  std::vector<AlignedColumn> all;
  for (const TableColumn& column : columns) {
    AlignedColumn& cells = all.emplace_back(AlignedColumn{{column.header}, column.to_the_right});
    for (const ResultRow* row : rows) cells.cells.push_back(escaped(column.cell(*row)));
  }
  return all;
}

/// Returns the smallest number of leading columns that identify each line. Returns 1 if none do, or
/// if they leave less than half of `width` to the others.
std::size_t num_key_columns(const std::vector<AlignedColumn>& columns, std::size_t width) {
  const std::size_t num_lines = columns.empty() ? 0 : columns.front().cells.size();
  std::vector<std::vector<std::string>> keys(num_lines);
  std::size_t used = 0;
  for (std::size_t count = 1; count < columns.size(); ++count) {
    used += width_of(columns[count - 1]) + kGap;
    if (used > width / 2) break;
    for (std::size_t i = 1; i < num_lines; ++i) keys[i].push_back(columns[count - 1].cells[i]);
    const std::set<std::vector<std::string>> seen(std::next(keys.begin()), keys.end());
    if (seen.size() == num_lines - 1) return count;
  }
  return 1;
}

/// Distributes the columns over blocks that fit into `width`, each starting with the key columns.
std::vector<std::vector<AlignedColumn>> blocks_of(const std::vector<AlignedColumn>& columns,
                                                  std::size_t width) {
  const std::size_t keys = std::min(num_key_columns(columns, width), columns.size());
  const std::vector<AlignedColumn> key_columns(columns.begin(),
                                               columns.begin() + static_cast<std::ptrdiff_t>(keys));
  std::size_t key_width = 0;
  for (const AlignedColumn& column : key_columns) key_width += width_of(column) + kGap;
  std::vector<std::vector<AlignedColumn>> blocks = {key_columns};
  std::size_t used = key_width;
  for (std::size_t column = keys; column < columns.size(); ++column) {
    const std::size_t own = width_of(columns[column]);
    if (used + own > width && blocks.back().size() > keys) {
      blocks.push_back(key_columns);
      used = key_width;
    }
    blocks.back().push_back(columns[column]);
    used += own + kGap;
  }
  return blocks;
}

/// Returns `text` on one line, without control characters, at which LaTeX stops.
std::string latex_line_of(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return escaped(text);
}

std::string latex_comment(const std::string& text) { return "% " + latex_line_of(text) + "\n"; }

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

std::string results_to_text(const Results& results, const TableLayout& layout,
                            const TextStyle& style) {
  const Pivot pivot = pivot_results(results, layout);
  std::string text;
  for (const Detail detail : {Detail::kBar, Detail::kInterval, Detail::kSpread, Detail::kValue}) {
    text = format_all(pivot, layout, style, detail);
    const bool fits = widest_line(text) <= static_cast<std::size_t>(style.width);
    text += left_out(results, layout, detail);
    if (fits) break;
  }
  return text;
}

std::string results_to_latex(const Results& results, const TableLayout& layout,
                             const std::vector<std::string>& notes) {
  const Pivot pivot = pivot_results(results, layout);
  std::vector<std::string> all_notes = notes;
  all_notes.push_back(fmt::format("cells: {}{}{}", layout.value.name,
                                  layout.spread.is_none() ? "" : " +- ", layout.spread.name));
  std::vector<std::string> cells = {latex_escaped(std::string(layout.line.name))};
  for (const std::string& series : pivot.series) cells.push_back(latex_escaped(series));
  std::string text =
      latex_begin(all_notes, "r" + std::string(pivot.series.size(), 'c')) + latex_line(cells);
  for (const PivotBlock& block : pivot.blocks) {
    text += fmt::format("\\midrule\n\\multicolumn{{{}}}{{l}}{{\\emph{{{}}}}} \\\\\n", cells.size(),
                        latex_escaped(block.heading));
    for (std::size_t line = 0; line < block.lines.size(); ++line) {
      cells = {latex_escaped(block.lines[line])};
      for (const ResultRow* row : block.cells[line]) cells.push_back(latex_cell(row, layout));
      text += latex_line(cells);
    }
  }
  return text + kLatexEnd;
}

TableColumn table_column(const Column& column, std::string header) {
  return {.header = header.empty() ? std::string(column.name) : std::move(header),
          .cell = [column](const ResultRow& row) { return row.shown(column); },
          .to_the_right = column.type != CellType::kText,
          .source = column};
}

TableColumn number_column(const Column& column, int digits, std::string header, double scale) {
  TableColumn table = table_column(column, std::move(header));
  table.cell = [column, digits, scale](const ResultRow& row) -> std::string {
    if (!row.has(column)) return "";
    return decimal_text(row.number(column) * scale, digits);
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

std::string columns_to_text(const RowPointers& rows, const std::vector<TableColumn>& columns,
                            const TextStyle& style) {
  std::string text;
  for (const auto& block :
       blocks_of(cells_of(rows, columns), static_cast<std::size_t>(std::max(style.width, 1)))) {
    text += (text.empty() ? "" : "\n") + joined_lines(aligned_lines(block, kGap));
  }
  return text;
}

std::string columns_to_latex(const RowPointers& rows, const std::vector<TableColumn>& columns,
                             const std::vector<std::string>& notes,
                             const StartsGroup& starts_group) {
  std::string sides;
  std::vector<std::string> cells;
  for (const TableColumn& column : columns) {
    sides += column.to_the_right ? 'r' : 'l';
    cells.push_back(column.latex_header.empty() ? latex_escaped(column.header)
                                                : column.latex_header);
  }
  std::string text = latex_begin(notes, sides) + latex_line(cells) + "\\midrule\n";
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (row > 0 && starts_group && starts_group(*rows[row - 1], *rows[row])) text += "\\midrule\n";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      cells[i] = latex_escaped(columns[i].cell(*rows[row]));
    }
    text += latex_line(cells);
  }
  return text + kLatexEnd;
}

std::string names_to_latex(const Results& results,
                           const std::vector<std::pair<Column, std::string>>& lines,
                           const std::function<std::string(const RowPointers&)>& cell,
                           const std::function<std::string(const std::string& name)>& heading,
                           const std::vector<std::string>& notes) {
  const auto is_of_line = [&](const ResultRow& row, const ResultRow& line) {
    return std::ranges::all_of(
        lines, [&](const auto& key) { return row.cell(key.first) == line.cell(key.first); });
  };
  RowPointers first_rows;
  for (const ResultRow& row : results.rows) {
    if (std::ranges::none_of(first_rows, [&](auto* line) { return is_of_line(row, *line); })) {
      first_rows.push_back(&row);
    }
  }
  std::vector<TableColumn> columns;
  for (const auto& [column, header] : lines) columns.push_back(table_column(column, header));
  for (const std::string& name : distinct(results.rows, col::kName)) {
    const auto text_of = [&, name](const ResultRow& line) {
      RowPointers rows = rows_with(results.rows, {{col::kName, name}});
      std::erase_if(rows, [&](const ResultRow* row) { return !is_of_line(*row, line); });
      return rows.empty() ? "" : cell(rows);
    };
    columns.push_back({.header = name, .cell = text_of, .latex_header = heading(name)});
  }
  return columns_to_latex(first_rows, columns, notes);
}

std::vector<std::string> aligned_lines(const std::vector<AlignedColumn>& columns, std::size_t gap) {
  std::size_t num_lines = 0;
  for (const AlignedColumn& column : columns) num_lines = std::max(num_lines, column.cells.size());
  std::vector<std::string> lines(num_lines);
  for (const AlignedColumn& column : columns) {
    const std::size_t width = width_of(column);
    for (std::size_t i = 0; i < num_lines; ++i) {
      const std::string cell = i < column.cells.size() ? column.cells[i] : "";
      const std::string space(width - display_width(cell), ' ');
      if (&column != &columns.front()) lines[i] += std::string(gap, ' ');
      lines[i] += column.to_the_right ? space + cell : cell + space;
    }
  }
  return lines;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char letter) { return (static_cast<unsigned char>(letter) & 0xC0) != 0x80; }));
}

std::string latex_begin(const std::vector<std::string>& notes, const std::string& columns) {
  std::string text = latex_comment("needs \\usepackage{booktabs}");
  for (const std::string& note : notes) text += latex_comment(note);
  return text + "\\begin{tabular}{" + columns + "}\n\\toprule\n";
}

std::string latex_line(const std::vector<std::string>& cells) {
  return fmt::format("{} \\\\\n", fmt::join(cells, " & "));
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
