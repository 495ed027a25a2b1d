// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "capture/input/input.h"
#include "capture/input/input_shape.h"

namespace lime {

/// Reads text files line by line, each line a sequence of its own length, prefixed according to
/// `shape.bos`. Blank lines are skipped; other lines are encoded unchanged. Stops after the last
/// requested sequence.
/// @param max_tokens  maximum per sequence.
/// @throws IoError, FormatError  if a file cannot be read, is not UTF-8 or has no lines.
/// @throws InvalidArgument  for a line that is too long or begins with a second
///         beginning-of-sequence token; names file and line.
CaptureInput read_line_input(const std::vector<std::filesystem::path>& files,
                             const Tokenizer& tokenizer, const InputShape& shape,
                             std::int64_t max_tokens);

}  // namespace lime
