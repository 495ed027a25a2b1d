// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace lime {

/// Integers of a NumPy file.
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
