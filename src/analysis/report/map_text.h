// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "analysis/report/text_printer.h"
#include "core/matrix.h"

namespace lime {

/// Returns one character per value, the darker the larger: from a blank at 0 to a full block (or #)
/// at `largest`. NaN and values below 0 are blank.
std::string shades(const VectorD& values, double largest, const TextStyle& style);

/// Returns a map from layers to source layers as text: one line per row, numbered from 0, with
/// percent and a shade per cell; where that is too wide, shades alone, then of several columns
/// together.
/// @param map        [rows, columns]; NaN where there is no cell
/// @param is_signed  differences: numbers with their sign, no shades; nothing where too wide.
std::string map_to_text(const MatrixD& map, bool is_signed, const TextStyle& style = {});

}  // namespace lime
