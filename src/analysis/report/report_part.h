// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "analysis/report/table.h"
#include "core/matrix.h"

namespace lime {

/// Lines of text.
struct Paragraph {
  std::vector<std::string> lines;
};

/// A map from layers to source layers, see map_to_text().
struct TextMap {
  std::string title;  ///< a line above
  MatrixD map;
  bool is_signed = false;
};

enum class ShownIn { kAllFormats, kTerminal, kPaper };

/// A part of a report. The terminal shows all kinds, LaTeX shows tables.
struct ReportPart {
  std::variant<Table, TextMap, Paragraph> content;
  ShownIn shown_in = ShownIn::kAllFormats;
};

}  // namespace lime
