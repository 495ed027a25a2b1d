// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "checkpoint/tokenizer.h"
#include "core/json.h"
#include "core/program/progress.h"
#include "train/token_shards.h"

namespace lime {

enum class TextSplit : std::uint8_t { kTraining, kValidation };

/// Called with each document in turn; the text is valid during the call.
using DocumentVisitor = std::function<void(TextSplit split, std::string_view text)>;

/// Passes the documents of one file to a visitor: for a .jsonl file the string "text" of each line,
/// for any other file its whole content. The last `validation_fraction` of its bytes is for
/// validation, rounded down to whole lines: nothing for a file with a single line.
///
/// @param validation_fraction  in [0, 1); 0 for none, 1 gives all.
/// @throws IoError      if the file cannot be read.
/// @throws FormatError  if the file is not UTF-8, which names the byte, or if a line of a .jsonl
///                      file is not an object with a string "text", which names the line.
void visit_documents(const std::filesystem::path& file, double validation_fraction,
                     const DocumentVisitor& visit);

/// Returns the paths, each folder replaced by its .txt and .jsonl files, sorted by name.
/// @throws InvalidArgument  if a folder contains none.
std::vector<std::filesystem::path> text_files(std::span<const std::filesystem::path> paths);

bool is_blank(std::string_view text);

/// Checks that the files contain text.
/// @throws InvalidArgument  if there are no files, or all of them are blank.
/// @throws IoError          if a file cannot be read.
void require_text(std::span<const std::filesystem::path> files);

/// A text to be tokenised once for many runs.
struct TextSource {
  std::vector<std::filesystem::path> files;             ///< see visit_documents()
  std::vector<std::filesystem::path> validation_files;  ///< used for validation only
  double validation_fraction = 0.0;                     ///< of `files`, in [0, 1)
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
