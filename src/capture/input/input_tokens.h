// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "capture/input/input.h"
#include "capture/input/input_shape.h"

namespace lime {

/// Reads token ids from a .npy file: a 2-D array has one sequence per row, with the row's length; a
/// 1-D array is split every `seq_len` tokens like text.
///
/// Ids are used unchanged; only `shape.bos` kAlways prepends a token, to each row or to the whole
/// 1-D array. A tokenizer is optional; if present, the sequences include their text.
/// @throws InvalidArgument  for an id outside the vocabulary: reports the first and its position.
/// @throws FormatError      as read_npy_integers(); or if the file contains no ids.
CaptureInput read_token_input(const std::filesystem::path& file, const InputContext& context,
                              const InputShape& shape);

}  // namespace lime
