// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <string>

#include "analysis/report/pivot.h"

namespace lime {

/// What the terminal can show.
struct TextStyle {
  /// Columns that a line may take; files and pipes have no limit.
  int width = std::numeric_limits<int>::max();
  bool unicode = true;  ///< false: ASCII only
};

/// A table for the terminal: per block a heading, then a line per layer with the captures side by
/// side: value, spread, interval and a bar from 0 to the ceiling. Where that is wider than the
/// style allows, first the bars go, then the intervals, then the spreads, and a last line says so.
std::string results_to_text(const Results& results, const TableLayout& layout,
                            const TextStyle& style = {});

/// Columns that `text` takes on a terminal: its UTF-8 characters.
std::size_t display_width(const std::string& text);
/// `text` with spaces before or behind it, as wide as `width` columns or as itself.
std::string padded(const std::string& text, std::size_t width, bool to_the_right);
std::string without_trailing_spaces(std::string text);

}  // namespace lime
