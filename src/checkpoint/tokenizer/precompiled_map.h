// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lime {

/// SentencePiece's compiled normalization rules, as tokenizer.json has them (Precompiled).
///
/// Grapheme clusters of less than 6 bytes are looked up as a whole, then characters by themselves;
/// as in `tokenizers`, the shortest rule that a cluster begins with replaces all of it.
/// Immutable and thread-safe.
/// Source: `tokenizers` 0.23 (spm_precompiled 0.1), darts-clone's layout of a double array.
class PrecompiledMap {
 public:
  /// @param base64  `precompiled_charsmap`: a size, the double array, and strings that end with
  /// NUL.
  /// @param where   the place in the file, for errors. @throws FormatError  if it is broken.
  PrecompiledMap(std::string_view base64, const std::string& where);

  /// @param text  valid UTF-8.
  std::string apply(std::string_view text) const;

 private:
  std::optional<std::string_view> find(std::string_view chunk) const;
  void append_cluster(std::string_view cluster, std::string& result) const;

  std::vector<std::uint32_t> units_;
  std::string strings_;
};

}  // namespace lime
