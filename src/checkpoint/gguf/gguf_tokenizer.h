// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "checkpoint/gguf/gguf_header.h"
#include "checkpoint/tokenizer.h"

namespace lime {

/// Returns the tokenizer of a GGUF file as the files of a Hugging Face folder, by name:
/// tokenizer.json and tokenizer_config.json.
///
///   tokenizer.ggml.model  becomes
///   gpt2                  byte-level BPE with the file's merges; `tokenizer.ggml.pre` names the
///                         pattern that cuts a text into words
///   llama                 BPE on characters, as SentencePiece; the merges follow from the scores
///
/// Control tokens of the file are special; user-defined ones are matched whole.
/// @throws FormatError  if a list is missing or has another length, a token is not UTF-8 or given
///                      twice, or the model or the pattern is not known; says what is.
/// Source of the patterns: tokenizer.json of the named models, listed in src/llama-vocab.cpp of
/// github.com/ggml-org/llama.cpp.
std::map<std::string, std::string> gguf_tokenizer_files(const GgufHeader& header,
                                                        std::string_view where);

/// Reads the tokenizer of a GGUF file. Its sha256() is that of tokenizer.json.
/// @throws FormatError  as gguf_tokenizer_files().
std::unique_ptr<Tokenizer> read_gguf_tokenizer(const GgufHeader& header, std::string_view where);

}  // namespace lime
