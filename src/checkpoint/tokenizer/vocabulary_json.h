// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"

namespace lime {

/// Contains a JSON file whose vocabulary, an object of token to id, is stored separately: hundreds
/// of thousands of members would be slow in the tree, and duplicates would go unnoticed.
struct VocabularyJson {
  Json rest;  ///< the file with an empty object in the vocabulary's place; a list stays in it
  std::vector<std::pair<std::string, std::int32_t>> entries;
};

/// @param member_path  where the vocabulary is: {"model", "vocab"}, or {} for the whole file.
/// @throws FormatError  if the file is not JSON or an id is not an integer in [0, 2^31 - 2].
VocabularyJson read_vocabulary_json(const std::filesystem::path& path,
                                    const std::vector<std::string_view>& member_path);

}  // namespace lime
