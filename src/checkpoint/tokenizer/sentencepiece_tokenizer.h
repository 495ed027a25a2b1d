// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "checkpoint/tokenizer.h"
#include "checkpoint/tokenizer/special_tokens.h"

namespace lime {

/// Reads a SentencePiece model (tokenizer.model) with libsentencepiece.
///
/// BOS is added as in Hugging Face's LlamaTokenizer: unless tokenizer_config.json says
/// `"add_bos_token": false`; EOS if it says `"add_eos_token": true`. Control tokens that are spelt
/// out in a text stay ordinary text, as libsentencepiece has it.
///
/// @throws FormatError  if the file is not a SentencePiece model.
std::unique_ptr<Tokenizer> read_sentencepiece(const std::filesystem::path& path,
                                              const SpecialTokens& special);

}  // namespace lime
