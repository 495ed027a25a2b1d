// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "capture/input.h"
#include "capture/input_shape.h"

namespace lime {

/// Reads text files as documents and packs them into sequences of equal length.
///
/// Concatenates the documents, each prefixed according to `shape.bos` and separated by the
/// tokenizer's end-of-sequence token, and splits the result every `seq_len` tokens. Document
/// boundaries are ignored, also by attention, as in the paper's code (preprocessing_fineweb.py). A
/// shorter last piece is dropped, unless it is the only one.
/// @throws IoError          if a file cannot be read.
/// @throws FormatError      if a file is empty or not UTF-8 (names the byte).
/// @throws InvalidArgument  for a second beginning-of-sequence token.
CaptureInput read_text_input(const std::vector<std::filesystem::path>& files,
                             const Tokenizer& tokenizer, const InputShape& shape);

}  // namespace lime
