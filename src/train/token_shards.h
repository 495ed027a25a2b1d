// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/files/input_file.h"

namespace lime {

/// Token ids in memory-mapped files: little-endian numbers of two bytes each if the vocabulary
/// allows, else four. They form one long list, in the order of the files. Thread-safe for reading.
class TokenShards {
 public:
  /// Returns the bytes per id for a vocabulary of this size.
  static int bytes_per_token(std::int64_t vocab_size) { return vocab_size <= 65536 ? 2 : 4; }

  TokenShards() = default;
  /// @throws IoError      if a file cannot be read.
  /// @throws FormatError  if a file ends in the middle of an id.
  TokenShards(std::span<const std::filesystem::path> files, int bytes_per_token);

  std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }

  /// Copies the ids from `begin` on. @throws InvalidArgument  if the range exceeds the list.
  void copy(std::int64_t begin, std::span<std::int64_t> ids) const;

 private:
  std::vector<MappedFile> files_;
  std::vector<std::int64_t> ends_;  ///< per file: cumulative number of tokens up to its end
  int bytes_per_token_ = 2;
};

/// Writes ids in the format of TokenShards; the file is written atomically.
/// @throws IoError
void write_token_shard(const std::filesystem::path& file, std::span<const std::int32_t> ids,
                       int bytes_per_token);

}  // namespace lime
