// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/program/terminal.h"

namespace lime {
namespace {

constexpr int kBarWidth = 12;
constexpr const char* kFullBlock = "\u2588";
constexpr const char* kMiddleDot = "\u00b7";
constexpr const char* kDash = "\u2013";
constexpr const char* kPlusMinus = "\u00b1 ";

/// Parts of a cell that are shown, from all to the value alone.
enum class Detail { kBar, kInterval, kSpread, kValue };

/// One line of cells; the last cells of a line may be missing.
using Cells = std::vector<std::string>;

std::string fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

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
Cells parts_of(const ResultRow* row, const TableLayout& layout, Detail detail, bool unicode) {
  if (row == nullptr) return {unicode ? kDash : "-"};
  const auto read = [&](const Column& column) { return row->number(column); };
  Cells parts = {fixed(read(layout.value), layout.digits)};
  if (detail <= Detail::kSpread && !layout.spread.is_none()) {
    const double spread = read(layout.spread);
    parts.push_back(
        std::isnan(spread) ? "" : (unicode ? kPlusMinus : "+- ") + fixed(spread, layout.digits));
  }
  if (detail <= Detail::kInterval && !layout.low.is_none()) {
    const double low = read(layout.low);
    const double high = read(layout.high);
    const bool none = std::isnan(low) && std::isnan(high);
    parts.push_back(
        none ? "" : fmt::format("[{}, {}]", fixed(low, layout.digits), fixed(high, layout.digits)));
  }
  if (detail == Detail::kBar && !layout.ceiling.is_none()) {
    parts.push_back(bar(read(layout.value) / read(layout.ceiling), unicode));
  }
  return parts;
}

/// Pads `lines` of equal roles to common widths and joins the parts with one space.
std::vector<std::string> align(const std::vector<Cells>& lines) {
  std::vector<std::size_t> widths;
  for (const Cells& line : lines) {
    widths.resize(std::max(widths.size(), line.size()), 0);
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(line[i]));
    }
  }
  std::vector<std::string> joined;
  for (const Cells& line : lines) {
    std::string text;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string part = i < line.size() ? line[i] : "";
      text += (i == 0 ? "" : " ") + padded(part, widths[i], true);
    }
    joined.push_back(std::move(text));
  }
  return joined;
}

std::string format_block(const PivotBlock& block, const Pivot& pivot, const TableLayout& layout,
                         const TextStyle& style, Detail detail) {
  std::vector<std::string> lines = {std::string(layout.line.name)};
  for (const std::string& line : block.lines) lines.push_back(escaped(line));
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, display_width(line));
  for (std::string& line : lines) line = padded(line, width, true);
  for (std::size_t series = 0; series < pivot.series.size(); ++series) {
    const bool is_there = std::any_of(block.cells.begin(), block.cells.end(),
                                      [&](const auto& line) { return line[series] != nullptr; });
    if (!is_there) continue;  // a column of dashes
    std::vector<Cells> cells;
    for (const auto& line : block.cells) {
      cells.push_back(parts_of(line[series], layout, detail, style.unicode));
    }
    const std::vector<std::string> column = align(cells);
    const std::string head = escaped(pivot.series[series]);
    width = display_width(head);
    for (const std::string& text : column) width = std::max(width, display_width(text));
    lines[0] += "   " + padded(head, width, false);
    for (std::size_t i = 0; i < column.size(); ++i) {
      lines[i + 1] += "   " + padded(column[i], width, false);
    }
  }
  std::string text;
  for (std::string& line : lines) text += without_trailing_spaces(std::move(line)) + "\n";
  return text;
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
    return std::any_of(results.rows.begin(), results.rows.end(),
                       [&](const ResultRow& row) { return row.has(column); });
  };
  std::string names;
  if (detail > Detail::kSpread && is_there(layout.spread)) names = "spreads";
  if (detail > Detail::kInterval && is_there(layout.low)) {
    names += names.empty() ? "intervals" : " and intervals";
  }
  if (names.empty()) return "";
  return fmt::format("({} omitted, too wide for this terminal; see --format csv)\n", names);
}

}  // namespace

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char letter) {
    return (static_cast<unsigned char>(letter) & 0xC0) != 0x80;
  }));
}

std::string padded(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string space(width - std::min(width, display_width(text)), ' ');
  return to_the_right ? space + text : text + space;
}

std::string without_trailing_spaces(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
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

}  // namespace lime
