// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/weights/tensor_view.h"
#include "core/json.h"

namespace lime {

/// Lists the types of metadata values; the numbers are those of the file.
enum class GgufType {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12
};

/// A list in the metadata, in the bytes of the file; its elements are checked.
struct GgufArray {
  GgufType type = GgufType::kUint8;
  std::size_t count = 0;
  std::span<const std::byte> bytes;

  /// Returns the elements of a list of strings; empty for another type.
  std::vector<std::string_view> strings() const;
  /// Returns the elements of a list of numbers or booleans; empty for another type.
  std::vector<double> numbers() const;
};

/// Contains the header of a GGUF file, checked against the file.
struct GgufHeader {
  Json metadata = Json::object();  ///< numbers, booleans and strings, by key
  std::map<std::string, GgufArray, std::less<>> arrays;
  std::vector<TensorView> tensors;  ///< in the order of the file, which they view

  /// Returns the list `key`, or null.
  const GgufArray* find_array(std::string_view key) const;
};

/// Returns true if the content of a file begins as GGUF does.
bool is_gguf(std::string_view content);

/// Reads the header of a GGUF file in memory, version 2 or 3, little-endian: 4 bytes "GGUF",
/// version, number of tensors and of metadata entries; the entries; name, shape, type and offset of
/// each tensor; data. Touches no weights.
///
/// Sizes are limited by the file: no list, string or tensor may exceed it, tensors may not overlap,
/// and lists are not copied. Lists of lists are not supported.
/// @param where  path of the file, for errors.
/// @throws FormatError  that names the entry or the tensor, and the remedy for a big-endian file,
/// an
///                      older version, or a type of weights that is not supported.
/// Source: docs/gguf.md of github.com/ggml-org/ggml.
GgufHeader parse_gguf(std::span<const std::byte> file, std::string_view where);

}  // namespace lime
