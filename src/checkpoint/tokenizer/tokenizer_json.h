// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "checkpoint/tokenizer.h"
#include "checkpoint/tokenizer/special_tokens.h"

namespace lime {

/// Reads Hugging Face's tokenizer.json with a BPE, Unigram, WordLevel or WordPiece model.
/// @param special  from the other files; BOS and EOS depend only on its post_processor.
/// @throws FormatError  if the file is broken or needs a component that is not supported.
std::unique_ptr<Tokenizer> read_tokenizer_json(const std::filesystem::path& path,
                                               const SpecialTokens& special);

/// Reads the content of a tokenizer.json; sha256() is its digest. @param where  named in errors.
std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view content, std::string_view where,
                                                const SpecialTokens& special);

/// Reads GPT-2's vocab.json and merges.txt: byte-level BPE with GPT-2's pattern.
/// @throws FormatError  if a file is broken.
std::unique_ptr<Tokenizer> read_gpt2_files(const std::filesystem::path& vocab_json,
                                           const std::filesystem::path& merges_txt,
                                           const SpecialTokens& special);

}  // namespace lime
