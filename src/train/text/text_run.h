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
#include "core/program/progress.h"
#include "train/tasks/sequence_task.h"
#include "train/text/tokenized_text.h"
#include "train/training_run.h"

namespace lime {

/// Training text of a language model; describe() explains every field.
struct TextData {
  std::vector<std::filesystem::path> text;
  std::vector<std::filesystem::path> validation_text;
  double validation_fraction = 0.01;  ///< unused with validation_text
  std::filesystem::path tokenizer;    ///< or vocab_size
  std::optional<std::int64_t> vocab_size;
  std::int64_t sequence_length = 256;
  std::filesystem::path tokens;

  void describe(OptionList& list);
  void validate() const;
};

struct PreparedText {
  TokenizedText text;
  std::unique_ptr<Tokenizer> tokenizer;
  std::map<std::string, std::string> files;  ///< of the tokenizer, by name
};

/// Trains the tokenizer if requested, and tokenises the text, or reuses both from TextData::tokens.
/// @param on_progress  bytes of text.
/// @throws InvalidArgument  if there is no text, or too little for the requested tokenizer.
/// @throws as tokenize_text() and load_tokenizer()
PreparedText prepare_text(const TextData& data, const ProgressFn& on_progress = {},
                          std::stop_token stop = {});

/// Returns a warning about training sequences that do not begin as the tokenizer begins every text,
/// as most do: the tokens are one stream, cut regardless of documents. Empty if there are none.
std::string packing_warning(const PreparedText& prepared, const TextData& data);

/// Trains a decoder to predict the next token of the text, with packed sequences; measures the loss
/// on the held-out text during training.
/// @throws InvalidArgument  if a sequence is longer than the decoder allows, or the initial
///         checkpoint has another tokenizer than the text.
/// @throws as run_training()
TrainingOutcome train_on_text(const PreparedText& prepared, const TextData& data,
                              const TrainingSetup& setup, const ProgressFn& on_progress = {},
                              std::stop_token stop = {});

/// Fine-tunes the checkpoint `setup.from` on pairs of a prompt and an answer, with the loss on the
/// answers.
///
/// Files contain JSON Lines: `prompt` and `answer`, or `question` and `answer` of GSM8K, whose
/// prompt is the one of lm-evaluation-harness, "Question: ...\nAnswer:". A sequence is prompt, a
/// space, answer and the end-of-text token. The test file, if given, provides the held-out loss.
/// @throws InvalidArgument  without a checkpoint or training file, or if a pair is longer than the
///         model allows or the files share a pair.
/// @throws FormatError      if a line is not such a pair; names it.
/// @throws as run_training()
TrainingOutcome train_on_pairs(const TaskFiles& files, const TrainingSetup& setup,
                               const ProgressFn& on_progress = {}, std::stop_token stop = {});

}  // namespace lime
