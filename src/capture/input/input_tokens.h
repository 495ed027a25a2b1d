// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "capture/input/input.h"

namespace lime {

/// Reads token ids from a .npy file: a 2-D array has one sequence per row, with the row's length; a
/// 1-D array is split every `seq_len` tokens like text.
///
/// Ids are used unchanged; only `options.bos` kAlways, or Packing::kBosEach for a 1-D array,
/// prepend BOS to each sequence. With Packing::kEosBetween it is prepended to the whole 1-D array
/// instead. A tokenizer is optional; if present, the sequences include their text.
/// @throws InvalidArgument  for an id outside the vocabulary: reports the first and its position.
/// @throws FormatError      as read_npy_integers(); or if the file contains no ids.
CaptureInput read_token_input(const CaptureOptions& options, const ModelConfig& config,
                              const Tokenizer* tokenizer);

struct NpyIntegers {
  std::vector<std::int64_t> values;  ///< row-major
  std::vector<std::int64_t> shape;   ///< one or two dimensions
};

/// Reads a .npy file (versions 1 to 3) of integers of 1 to 8 bytes, in either byte order.
///
/// @throws IoError      if the file cannot be read.
/// @throws FormatError  if it is not .npy, its size does not match its shape, it has another
///         element type (names the type), no or more than two dimensions, Fortran order, or a
///         uint64 value above 2^63 - 1.
/// Source: numpy.lib.format's specification.
NpyIntegers read_npy_integers(const std::filesystem::path& path);

}  // namespace lime
