// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace lime {

/// Returns the content of the tokenizer files of a checkpoint folder by name: tokenizer.json,
/// tokenizer.model, vocab.json, merges.txt, tokenizer_config.json, special_tokens_map.json and
/// added_tokens.json, if they exist. @throws IoError
std::map<std::string, std::string> tokenizer_files(const std::filesystem::path& folder);

}  // namespace lime
