// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/text_printer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <set>

#include "analysis/report/aligned_text.h"
#include "analysis/report/map_text.h"
#include "core/number_text.h"
#include "core/program/terminal.h"

namespace lime {
namespace {

constexpr int kBarWidth = 12;
constexpr const char* kFullBlock = "\u2588";
constexpr const char* kMiddleDot = "\u00b7";

/// Spaces between columns: measured cells have spaces inside.
constexpr std::size_t kGap = 2;
constexpr std::size_t kMeasuredGap = 3;

/// Parts of a cell that are shown, from all to the value alone.
enum class Detail { kBar, kInterval, kSpread, kValue };

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

CellSigns signs_of(const TextStyle& style) {
  return style.unicode ? CellSigns{} : CellSigns{.plus_minus = "+-", .dash = "-"};
}

std::vector<std::string> measured_parts(const MeasuredCell& cell, Detail detail,
                                        const TextStyle& style) {
  std::vector<std::string> parts = {decimal_text(cell.value, cell.digits)};
  if (detail <= Detail::kSpread && cell.spread) parts.push_back(spread_text(cell, signs_of(style)));
  if (detail <= Detail::kInterval && cell.interval) {
    parts.push_back(interval_text(cell.interval->first, cell.interval->second, cell.digits));
  }
  if (detail == Detail::kBar && cell.ceiling) {
    parts.push_back(bar(cell.value / *cell.ceiling, style.unicode));
  }
  return parts;
}

/// Returns the parts of a cell, which align over the lines.
std::vector<std::string> parts_of(const TableCell& cell, Detail detail, const TextStyle& style) {
  if (const auto* const text = std::get_if<std::string>(&cell)) return {escaped(*text)};
  if (const auto* const measured = std::get_if<MeasuredCell>(&cell)) {
    return measured_parts(*measured, detail, style);
  }
  if (const auto* const shaded = std::get_if<ShadedCell>(&cell)) {
    return {"|" + shades(shaded->values, 1.0, style) + "|"};
  }
  return {cell_text(cell, signs_of(style))};
}

/// Returns the cells of a column; of measured columns the parts are below each other.
std::vector<std::string> cells_of(const TableBlock& block, std::size_t place, bool is_measured,
                                  Detail detail, const TextStyle& style) {
  std::vector<AlignedColumn> parts(1);
  std::vector<std::string> joined;
  for (std::size_t line = 0; line < block.lines.size(); ++line) {
    const auto cell = parts_of(block.lines[line].cells[place], detail, style);
    joined.push_back(fmt::format("{}", fmt::join(cell, " ")));
    parts.resize(std::max(parts.size(), cell.size()));
    for (std::size_t i = 0; i < cell.size(); ++i) {
      parts[i].cells.resize(line);
      parts[i].cells.push_back(cell[i]);
    }
  }
  return is_measured ? aligned_lines(parts, 1) : joined;
}

/// Returns the columns of a block, without those that have no cell in it.
std::vector<AlignedColumn> columns_of(const Table& table, const TableBlock& block, Detail detail,
                                      const TextStyle& style) {
  std::vector<AlignedColumn> columns;
  for (std::size_t place = 0; place < table.columns.size(); ++place) {
    const TableHead& head = table.columns[place];
    const bool is_empty =
        !block.lines.empty() && std::ranges::all_of(block.lines, [&](const TableLine& line) {
          return std::holds_alternative<std::monostate>(line.cells[place]);
        });
    if (is_empty) continue;
    AlignedColumn& column = columns.emplace_back(
        AlignedColumn{{escaped(head.text)}, head.alignment == Alignment::kRight});
    std::ranges::move(cells_of(block, place, head.alignment == Alignment::kCentre, detail, style),
                      std::back_inserter(column.cells));
  }
  return columns;
}

std::string heading_line(const TableBlock& block) {
  return block.heading.empty() ? "" : escaped(block.heading) + "\n";
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

std::string text_with(const Table& table, Detail detail, const TextStyle& style) {
  std::string text;
  for (const TableBlock& block : table.blocks) {
    text += (text.empty() ? "" : "\n") + heading_line(block) +
            joined_lines(aligned_lines(columns_of(table, block, detail, style), kMeasuredGap));
  }
  return text;
}

/// A line that names the numbers which `detail` leaves out; empty where it shows them all.
std::string left_out(const Table& table, Detail detail) {
  bool has_spread = false;
  bool has_interval = false;
  for (const TableBlock& block : table.blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableCell& cell : line.cells) {
        const auto* const measured = std::get_if<MeasuredCell>(&cell);
        if (measured == nullptr) continue;
        has_spread |= measured->spread && !std::isnan(*measured->spread);
        has_interval |= measured->interval && !std::isnan(measured->interval->first);
      }
    }
  }
  std::string names;
  if (detail > Detail::kSpread && has_spread) names = "spreads";
  if (detail > Detail::kInterval && has_interval) {
    names += names.empty() ? "intervals" : " and intervals";
  }
  if (names.empty()) return "";
  return fmt::format("({} omitted, too wide for this terminal; see --format csv)\n", names);
}

/// Returns the table with as many details as fit.
std::string text_with_details(const Table& table, const TextStyle& style) {
  std::string text;
  for (const Detail detail : {Detail::kBar, Detail::kInterval, Detail::kSpread, Detail::kValue}) {
    text = text_with(table, detail, style);
    const bool fits = widest_line(text) <= static_cast<std::size_t>(style.width);
    text += left_out(table, detail);
    if (fits) break;
  }
  return text;
}

/// Returns the table with columns that do not fit below the others.
std::string text_with_columns_below(const Table& table, const TextStyle& style) {
  const auto width = static_cast<std::size_t>(std::max(style.width, 1));
  std::string text;
  for (const TableBlock& block : table.blocks) {
    text += (text.empty() ? "" : "\n") + heading_line(block);
    bool is_first = true;
    for (const auto& columns : blocks_of(columns_of(table, block, Detail::kBar, style), width)) {
      text += (is_first ? "" : "\n") + joined_lines(aligned_lines(columns, kGap));
      is_first = false;
    }
  }
  return text;
}

}  // namespace

std::string table_to_text(const Table& table, const TextStyle& style) {
  const std::string title = table.title.empty() ? "" : escaped(table.title) + "\n";
  return title + (table.too_wide == TooWide::kOmitDetails ? text_with_details(table, style)
                                                          : text_with_columns_below(table, style));
}

}  // namespace lime
