// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <vector>

#include "checkpoint/tokenizer.h"
#include "core/json.h"
#include "core/program/progress.h"
#include "train/text/token_shards.h"

namespace lime {

/// A text to be tokenised once for many runs.
struct TextSource {
  std::vector<std::filesystem::path> files;             ///< see visit_documents()
  std::vector<std::filesystem::path> validation_files;  ///< used for validation only
  double validation_share = 0.0;                        ///< of `files`, in [0, 1)
};

/// Tokens of a text: each document as encoded by the tokenizer with its special tokens (BOS),
/// followed by the end-of-text token if the tokenizer has one.
struct TokenizedText {
  TokenShards training;
  TokenShards validation;
  /// Content of the folder: `tokenizer_sha256`; per file its path, size and SHA-256; numbers of
  /// documents and tokens of both splits. Equal texts give equal tokens.
  Json description;
};

/// Opens the tokens in `folder` if they match text, tokenizer and share; otherwise creates them:
///
///   tokens.json                     the description, written last
///   training-00000.bin, ...         TokenShards, one per file of the text
///   validation-00000.bin, ...
///
/// @param folder       created if it does not exist; its parent must exist.
/// @param on_progress  bytes of text.
/// @throws IoError          if a file cannot be read or written.
/// @throws InvalidArgument  if a text is not UTF-8; names the file and the byte.
/// @throws FormatError      as visit_documents(), or if the tokens do not match their description.
/// @throws Interrupted      if `stop` was requested.
TokenizedText tokenize_text(const TextSource& source, const Tokenizer& tokenizer,
                            const std::filesystem::path& folder, const ProgressFn& on_progress = {},
                            std::stop_token stop = {});

}  // namespace lime
