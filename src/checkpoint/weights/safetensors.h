// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/weights/tensor_view.h"
#include "core/files/input_file.h"

namespace lime {

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
