// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "analysis/report/pivot.h"

namespace lime {

/// A booktabs table of value and spread, `$3.142 \pm 0.015$`, one column per capture; with several
/// blocks each has a heading between rules. `notes` stand above it as comments, so that the file
/// says what it shows. Needs \usepackage{booktabs} only.
std::string results_to_latex(const Results& results, const TableLayout& layout,
                             const std::vector<std::string>& notes = {});

/// `text` as a line of comment, which does not break off into the table.
std::string latex_comment(std::string text);

/// `text` with the ten special characters of LaTeX escaped.
std::string latex_escaped(const std::string& text);

}  // namespace lime
