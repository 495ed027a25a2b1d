// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "checkpoint/tokenizer.h"
#include "checkpoint/tokenizer/special_tokens.h"

namespace lime {

/// Reads a SentencePiece model (tokenizer.model) with libsentencepiece.
///
/// BOS and EOS are added as in Hugging Face's LlamaTokenizer: BOS unless tokenizer_config.json has
/// `"add_bos_token": false`, EOS if it has `"add_eos_token": true`. Names of control tokens in a
/// text are ordinary text, as in libsentencepiece.
///
/// @throws FormatError  if the file is not a SentencePiece model.
std::unique_ptr<Tokenizer> read_sentencepiece(const std::filesystem::path& path,
                                              const SpecialTokens& special);

}  // namespace lime
