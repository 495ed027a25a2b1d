// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace lime {

/// Whole numbers of a NumPy file.
struct NpyIntegers {
  std::vector<std::int64_t> values;  ///< row-major
  std::vector<std::int64_t> shape;   ///< one or two dimensions
};

/// Reads a .npy file (versions 1 to 3) of whole numbers of 1 to 8 bytes, either byte order.
///
/// @throws IoError      if the file cannot be read.
/// @throws FormatError  if it is not .npy, is cut short or longer than its shape says, holds
///         other numbers (names the type), has no or more than two dimensions, is in Fortran
///         order, or has a uint64 value above 2^63 - 1.
/// Source: numpy.lib.format's description of the format.
NpyIntegers read_npy_integers(const std::filesystem::path& path);

}  // namespace lime
