// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/input_file.h"

namespace lime {

/// Lists the element types of a safetensors file. Weights use only the first four.
enum class Dtype {
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
  kF8E4M3,
  kF8E5M2,
};

/// Returns the name in the file, e.g. "BF16".
std::string_view dtype_name(Dtype dtype);
/// Returns the dtype with this name in files, or nothing.
std::optional<Dtype> find_dtype(std::string_view name);
/// Returns the bytes per element.
std::size_t dtype_size(Dtype dtype);
/// Returns true for F64, F32, F16 and BF16.
bool is_weight_dtype(Dtype dtype);

/// Sizes of a tensor, outermost first; empty for a scalar.
using Shape = std::vector<std::int64_t>;

/// Returns e.g. "[97, 48]".
std::string shape_text(const Shape& shape);
/// Returns the number of elements; the product of the sizes must not overflow.
std::int64_t element_count(const Shape& shape);

/// Returns the unsigned number that bytes spell, at most 8, the least significant first.
std::uint64_t little_endian(std::span<const std::byte> bytes);

/// A named tensor in another object's memory, little-endian, row-major, perhaps unaligned.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::kF32;
  Shape shape;
  std::span<const std::byte> bytes;
};

/// Maps a safetensors file into memory.
///
/// Opening reads the header alone; the pages of a tensor are read when its bytes are first
/// touched. Every promise of the header is checked before: its length, JSON without duplicate
/// keys, known dtypes, sizes that do not overflow, and data that fills the rest of the file
/// exactly once, without hole or overlap.
/// Movable; the views end with the object. Reading is thread-safe.
/// Source: the format section of https://github.com/huggingface/safetensors.
class SafetensorsFile {
 public:
  /// @throws IoError, FormatError  if it is not a complete safetensors file; names the tensor.
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// Returns all tensors by increasing offset in the file.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  /// Returns the tensor `name`, or null.
  const TensorView* find(std::string_view name) const;
  /// Returns the header's `__metadata__`.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return path_; }
  /// Returns the whole file, including the header.
  std::span<const std::byte> bytes() const { return file_.bytes(); }

 private:
  std::filesystem::path path_;
  MappedFile file_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::string, std::string> metadata_;
};

/// Writes a safetensors file completely or not at all, streaming each tensor from its memory. Wide
/// types come first, then by name, as Hugging Face does: the data is then aligned.
/// @throws InvalidArgument, IoError  also if a name appears twice or bytes do not fit the shape.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

/// Contains the header of a safetensors file, checked against the file.
struct SafetensorsHeader {
  std::vector<TensorView> tensors;  ///< by increasing offset; they view the file's bytes
  std::map<std::string, std::string> metadata;
};

/// Reads the header of a file in memory: 8 bytes N, little-endian, N bytes of JSON, data.
/// @throws FormatError  for every promise that SafetensorsFile lists and the file breaks.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, std::string_view where);

}  // namespace lime
