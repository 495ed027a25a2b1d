// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "train/tasks/arithmetic_expression.h"

namespace lime {

/// Reads expressions, one per line, alone or followed by their solution(), as written by
/// `lime-train generate`. Empty lines are skipped.
///
/// @param range  of every operand and intermediate result.
/// @throws IoError      if the file cannot be read.
/// @throws FormatError  if it contains none, or names the line that is not an expression of 2 to 10
///         operands in its shortest form, leaves the range, divides with a remainder or has a wrong
///         solution.
std::vector<ArithmeticExpression> read_expressions(const std::filesystem::path& path,
                                                   const IntegerRange& range);

}  // namespace lime
