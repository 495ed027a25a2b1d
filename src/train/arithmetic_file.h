// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "train/arithmetic_expression.h"

namespace lime {

/// Reads expressions, one per line, alone or with the solution() behind them, as `lime-train
/// generate` writes them. Empty lines are left out.
///
/// @param range  of every operand and intermediate result.
/// @throws IoError      if the file cannot be read.
/// @throws FormatError  if it has none, or names the line that is no expression of 2 to 10
///                      operands in its shortest form, leaves the range, divides with a remainder
///                      or has another solution.
std::vector<ArithmeticExpression> read_expressions(const std::filesystem::path& path,
                                                   const IntegerRange& range);

}  // namespace lime
