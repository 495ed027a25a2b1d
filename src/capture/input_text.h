// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "capture/input.h"
#include "capture/input_shape.h"

namespace lime {

/// Reads text files as documents and packs them into sequences of equal length.
///
/// The documents are put one after the other, each with what `shape.bos` asks for before it, and
/// with the tokenizer's end-of-sequence token between them; the whole is cut every `seq_len`
/// tokens without regard to where documents end, and attention is not reset there. So does the
/// paper's code (preprocessing_fineweb.py). The last piece is dropped if it is shorter, unless it
/// is the only one.
/// @throws IoError          if a file cannot be read.
/// @throws FormatError      if a file is empty or not UTF-8 (names the byte).
/// @throws InvalidArgument  for a second beginning-of-sequence token.
CaptureInput read_text_input(const std::vector<std::filesystem::path>& files,
                             const Tokenizer& tokenizer, const InputShape& shape);

}  // namespace lime
