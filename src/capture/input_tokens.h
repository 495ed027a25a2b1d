// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "capture/input.h"
#include "capture/input_shape.h"

namespace lime {

/// Reads token ids from a .npy file: with two dimensions one sequence per row, as long as the
/// rows are; with one dimension cut every `seq_len` tokens as text is.
///
/// Ids are taken as they are; only `shape.bos` kAlways puts a token before each row, or before the
/// whole of a file with one dimension. A tokenizer is needed for neither; where there is one, the
/// sequences carry their text.
/// @throws InvalidArgument  for an id outside the vocabulary: names the first and its place.
/// @throws FormatError      as read_npy_integers(); or if the file holds no ids.
CaptureInput read_token_input(const std::filesystem::path& file, const InputContext& context,
                              const InputShape& shape);

}  // namespace lime
