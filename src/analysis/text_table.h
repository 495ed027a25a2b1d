// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "analysis/pivot.h"

namespace lime {

/// What the terminal can show.
struct TextStyle {
  int width = 100;      ///< columns; details are left out until the table fits
  bool unicode = true;  ///< false: ASCII only
};

/// A table for the terminal: per block a heading, then a line per layer with the captures side by
/// side: value, spread, interval and a bar from 0 to the ceiling. Where that is wider than the
/// style allows, first the bars go, then the intervals, then the spreads.
std::string results_to_text(const Results& results, const TableLayout& layout,
                            const TextStyle& style = {});

/// Columns that `text` takes on a terminal: its UTF-8 characters.
std::size_t display_width(const std::string& text);

}  // namespace lime
