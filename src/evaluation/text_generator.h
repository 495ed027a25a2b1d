// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tokenizer.h"
#include "core/program/progress.h"
#include "model/decoders/decoder.h"

namespace lime {

/// Prompt of a generated text, and where the text ends.
struct TextPrompt {
  std::vector<std::int64_t> ids;
  std::vector<std::string> stop_strings;
};

/// Limits of generated texts.
struct TextGenerationOptions {
  std::int64_t max_new_tokens = 256;           ///< per text, >= 1
  std::int64_t batch_size = 8;                 ///< texts at once, >= 1
  std::vector<std::int64_t> stop_tokens = {};  ///< ids that end a text
};

/// Result of generate_texts().
struct GeneratedTexts {
  std::vector<std::string> texts;  ///< in the order of the prompts, cut at the first stop string
  std::int64_t new_tokens = 0;     ///< of all texts together
};

/// Continues prompts by greedy decoding until a stop string, a stop token or max_new_tokens.
///
/// Prompts of similar length run as one batch, padded on the left; texts that end leave it. A model
/// with learned positions, or with rotary frequencies that depend on the length, runs one prompt at
/// a time. A near tie of two tokens may be decided differently for another batch size.
/// @param on_progress  counts texts
/// @throws Interrupted
GeneratedTexts generate_texts(const Decoder& decoder, const Tokenizer& tokenizer,
                              std::span<const TextPrompt> prompts,
                              const TextGenerationOptions& options,
                              const ProgressFn& on_progress = {}, const std::stop_token& stop = {});

/// Returns the first "#### NUMBER" of a generated text, without the marks: the filter strict-match
/// of the harness's task gsm8k. "[invalid]" if there is none.
std::string strict_answer(const std::string& text);

/// Returns the last number of a generated text: the filter flexible-extract. "[invalid]" if there
/// is none.
std::string flexible_answer(const std::string& text);

/// Returns true if an answer equals the reference solution after the removal of commas, dollar
/// signs, everything up to the last "#### ", and a final period, in lower case: the metric
/// exact_match of gsm8k.
bool is_exact_match(std::string_view answer, std::string_view reference);

}  // namespace lime
