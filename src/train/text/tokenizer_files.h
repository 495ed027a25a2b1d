// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "checkpoint/model_config.h"

namespace lime {

/// Returns the content of the tokenizer files of a checkpoint folder, by name: those that exist of
/// tokenizer.json, tokenizer.model, vocab.json, merges.txt, tokenizer_config.json,
/// special_tokens_map.json and added_tokens.json. @throws IoError
std::map<std::string, std::string> tokenizer_files(const std::filesystem::path& folder);

/// Returns the files in the form that transformers' AutoTokenizer expects beside a model of this
/// kind. transformers 5 takes every tokenizer of a `qwen2` for Qwen2Tokenizer,
/// which cuts numbers into digits; a null `auto_map` of another class in tokenizer_config.json
/// prevents it. With `trust_remote_code=True` such a folder is refused.
std::map<std::string, std::string> files_for_transformers(std::map<std::string, std::string> files,
                                                          const std::string& family);

}  // namespace lime
