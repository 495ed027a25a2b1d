// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "analysis/report/pivot.h"

namespace lime {

/// Returns a booktabs table of value and spread, `$3.142 \pm 0.015$`, one column per capture; with
/// several blocks, each has a heading between rules. `notes` are comments above it that describe
/// the content. Requires only \usepackage{booktabs}.
std::string results_to_latex(const Results& results, const TableLayout& layout,
                             const std::vector<std::string>& notes = {});

/// Returns `text` as one comment line.
std::string latex_comment(std::string text);

/// Returns `text` with the ten special characters of LaTeX escaped.
std::string latex_escaped(const std::string& text);

}  // namespace lime
