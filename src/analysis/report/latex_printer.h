// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "analysis/report/table.h"

namespace lime {

/// Returns a booktabs table; measured cells are value and spread, `$3.142 \pm 0.015$`, and each
/// block has its heading between rules. `notes`, those of the table and its title are comments
/// above it. Requires only the LaTeX package booktabs.
std::string table_to_latex(const Table& table, const std::vector<std::string>& notes = {});

/// Returns `text` on one line, with commands in place of the characters that LaTeX interprets.
std::string latex_escaped(const std::string& text);

}  // namespace lime
