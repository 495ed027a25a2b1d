// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "capture/options.h"
#include "checkpoint/tokenizer.h"

namespace lime {

/// How an input becomes sequences.
struct InputShape {
  std::int64_t seq_len = 2048;  ///< of packed input; lines and pairs keep their lengths
  std::optional<std::int64_t> max_sequences = std::nullopt;
  BosPolicy bos = BosPolicy::kAuto;
  Packing packing = Packing::kEosBetween;  ///< of text
  /// Of pairs: how sentences are put before the model; none: as they stand, with what `bos` says.
  std::optional<BlimpPreset> blimp_preset = std::nullopt;
};

/// The tokens that `bos` puts before every document, line or sentence.
/// @throws InvalidArgument  for kAlways where the tokenizer names no such token.
std::vector<std::int32_t> prepended_tokens(const Tokenizer& tokenizer, BosPolicy bos);

/// What is put before a sentence whose log-likelihood counts, so that its first token can be
/// scored: the beginning-of-sequence token, else the end-of-sequence token, as
/// lm-evaluation-harness does.
/// @throws InvalidArgument  if the tokenizer names neither.
std::vector<std::int32_t> scoring_prefix(const Tokenizer& tokenizer);

/// Refuses a text that starts with the very token that is put before it.
/// @param where  names the text in the message, e.g. "'a.txt'".
/// @throws InvalidArgument  unless `bos` is kAlways, which forces the second one.
void refuse_double_bos(std::span<const std::int32_t> text_ids,
                       std::span<const std::int32_t> prepended, BosPolicy bos,
                       std::string_view where);

}  // namespace lime
