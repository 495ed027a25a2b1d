// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "checkpoint/sentencepiece/sentencepiece_model.h"
#include "checkpoint/tokenizer/piece_tokenizer_json.h"
#include "checkpoint/tokenizer/tokenizer_files.h"
#include "core/json.h"
#include "train/text/tokenized_text.h"

namespace lime {

/// Returns the files in the form that transformers' AutoTokenizer expects for a model of this
/// family. transformers 5 loads every tokenizer of a `qwen2` as Qwen2Tokenizer (see
/// Family::assumed_tokenizer), which cuts numbers into digits; a null `auto_map` of another class
/// in tokenizer_config.json prevents it. With `trust_remote_code=True` such a folder is refused.
std::map<std::string, std::string> files_for_transformers(std::map<std::string, std::string> files,
                                                          const std::string& family);

/// Returns the folder of a SentencePiece tokenizer (tokenizer.model, and the same as tokenizer.json
/// with tokenizer_config.json for transformers, see piece_tokenizer_json()) trained on the training
/// part of the text, see train_sentencepiece_model(). Reuses `folder` if it contains one for the
/// same text and size, otherwise trains into it.
/// @throws InvalidArgument  if the text is blank, or too short for `vocab_size` pieces.
/// @throws IoError, FormatError  as visit_documents().
std::filesystem::path trained_tokenizer(const TextSource& source, std::int64_t vocab_size,
                                        const std::filesystem::path& folder);

}  // namespace lime
