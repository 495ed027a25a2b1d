// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>

#include "analysis/report/pivot.h"

namespace lime {

/// Capabilities of the terminal.
struct TextStyle {
  /// Maximum line width in columns; files and pipes have no limit.
  int width = std::numeric_limits<int>::max();
  bool unicode = true;  ///< false: ASCII only
};

/// Returns a table for the terminal: per block a heading, then a line per layer with the captures
/// side by side: value, spread, interval and a bar from 0 to the ceiling. If a line is too wide,
/// bars are omitted first, then intervals, then spreads; a last line reports it.
std::string results_to_text(const Results& results, const TableLayout& layout,
                            const TextStyle& style = {});

/// Returns the columns that `text` uses on a terminal: its UTF-8 characters.
std::size_t display_width(const std::string& text);
/// Returns `text` padded with spaces before or after it to at least `width` columns.
std::string padded(const std::string& text, std::size_t width, bool to_the_right);
std::string without_trailing_spaces(std::string text);

}  // namespace lime
