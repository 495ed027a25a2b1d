// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "checkpoint/tokenizer.h"
#include "core/options.h"
#include "core/progress.h"
#include "train/tokenized_text.h"
#include "train/training_run.h"
#include "train/training_setup.h"

namespace lime {

/// The text that a language model is trained on.
struct TextData {
  /// .jsonl files hold a document per line (in "text"), other files are one document each.
  std::vector<std::filesystem::path> text;
  /// Held-out text; the end of each training file if none is given.
  std::vector<std::filesystem::path> validation_text;
  /// How much of each training file is held out, in [0, 0.5]; unused with `validation_text`.
  double validation_share = 0.01;
  /// Folder of the tokenizer to use, e.g. a checkpoint.
  std::filesystem::path tokenizer;
  /// Or: trains a SentencePiece tokenizer with so many pieces on the text.
  std::optional<std::int64_t> vocab_size;
  /// Tokens of a training sequence, >= 1.
  std::int64_t sequence_length = 256;
  /// Folder that keeps the tokens (and the tokenizer, if it is trained) for this and other runs.
  std::filesystem::path tokens;

  void describe(OptionList& list);
  /// @throws InvalidArgument  that names the first field out of range.
  void validate() const;
};

/// A text in tokens, ready to be trained on.
struct PreparedText {
  TokenizedText text;
  std::unique_ptr<Tokenizer> tokenizer;
  std::map<std::string, std::string> files;  ///< those of the tokenizer, by name
};

/// Trains the tokenizer where one is asked for, and tokenises the text; takes both from
/// TextData::tokens where an earlier run has left them.
/// @param on_progress  bytes of text.
/// @throws InvalidArgument  if there is no text, or too little for the tokenizer asked for.
/// @throws as tokenize_text() and load_tokenizer()
PreparedText prepare_text(const TextData& data, const ProgressFn& on_progress = {},
                          std::stop_token stop = {});

/// Trains a decoder to predict the next token of the text, with packed sequences; the loss on the
/// held-out text is measured on the way.
/// @throws InvalidArgument  if a sequence is longer than the decoder allows, or the checkpoint to
///                          go on from has another tokenizer than the text.
/// @throws as run_training()
TrainingOutcome train_on_text(const PreparedText& prepared, const TextData& data,
                              const TrainingSetup& setup, const ProgressFn& on_progress = {},
                              std::stop_token stop = {});

}  // namespace lime
