// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "capture/input/input.h"

namespace lime {

/// Returns the tokens that `bos` puts before a text: those of the tokenizer's files for kAuto, none
/// for kNever.
/// @throws InvalidArgument  for kAlways if the tokenizer has no beginning-of-sequence token.
std::vector<std::int32_t> prepended_tokens(const Tokenizer& tokenizer, BosPolicy bos);

/// Returns the prefix of scored sentences, so that their first token can be scored: the
/// beginning-of-sequence token, else the end-of-sequence token, as in lm-evaluation-harness.
/// @throws InvalidArgument  if the tokenizer has neither.
std::vector<std::int32_t> scoring_prefix(const Tokenizer& tokenizer);

/// Returns how many tokens a text begins with that are those of `prepended`, because the text
/// spells_prefix(). They take the place of the prepended ones. 0 for kAlways, which prepends them
/// in any case.
std::size_t spelled_tokens(std::span<const std::int32_t> text_ids,
                           std::span<const std::int32_t> prepended, BosPolicy bos);

/// Appends a sequence: `prepended` and the text, or the text alone if it spells them.
void add_text(CaptureInput& input, std::span<const std::int32_t> text_ids, BosPolicy bos,
              Sequence about);

/// Returns the number of sequences that do not begin as the tokenizer begins every text; 0 if it
/// prepends nothing.
std::int64_t sequences_without_prefix(const CaptureInput& input, const Tokenizer& tokenizer);

/// Returns what the user should know about the sequences: that they lack the token with which the
/// tokenizer begins every text, or are longer than the context that the model was trained on.
/// @param tokenizer  may be null
std::vector<std::string> input_warnings(const CaptureInput& input, const CaptureOptions& options,
                                        const ModelConfig& config, const Tokenizer* tokenizer);

}  // namespace lime
