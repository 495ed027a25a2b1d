// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/capture_options.h"
#include "checkpoint/model_config.h"
#include "checkpoint/tokenizer.h"
#include "store/capture_info.h"

namespace lime {

struct CaptureInput {
  std::vector<std::int32_t> ids;            ///< concatenated over all sequences
  std::vector<std::int64_t> offsets = {0};  ///< first token of each sequence, and the end
  std::vector<Sequence> sequences;          ///< text, label, pair and task of each
  std::vector<std::string> task_names;      ///< of Sequence::task
  std::vector<std::string> task_fields;     ///< BLiMP's `field` of each task; empty without any
  std::vector<std::string> task_terms;      ///< and its `linguistics_term`
  std::vector<std::uint8_t> is_prepended;   ///< per token: 1 if prepended to a text
  std::vector<std::int32_t> prepended_ids;  ///< tokens before each sequence or document
  std::optional<Packing> packing;           ///< of sequences that were cut to one length
  std::vector<std::uint8_t> is_selected;    ///< per token: 1 if scores count it; empty: all
  std::vector<std::uint8_t> in_lens;  ///< per token: 1 if the logit lens is computed; empty: all
  std::int64_t dropped_tokens = 0;    ///< in the last piece, too short for a sequence

  std::int64_t num_sequences() const { return static_cast<std::int64_t>(sequences.size()); }
  std::int64_t num_tokens() const { return static_cast<std::int64_t>(ids.size()); }
  std::int64_t length(std::int64_t sequence) const {
    const auto index = static_cast<std::size_t>(sequence);
    return offsets[index + 1] - offsets[index];
  }
  std::span<const std::int32_t> ids_of(std::int64_t sequence) const {
    return std::span(ids).subspan(
        static_cast<std::size_t>(offsets[static_cast<std::size_t>(sequence)]),
        static_cast<std::size_t>(length(sequence)));
  }
  std::span<const std::uint8_t> is_prepended_of(std::int64_t sequence) const {
    return std::span(is_prepended)
        .subspan(static_cast<std::size_t>(offsets[static_cast<std::size_t>(sequence)]),
                 static_cast<std::size_t>(length(sequence)));
  }
  /// Returns the places of the tokens of a sequence that its score counts: selected ones that have
  /// a predecessor and were not prepended.
  std::vector<std::size_t> scored_of(std::int64_t sequence) const;
  std::int64_t longest() const;

  /// Appends one sequence. @param prepended  tokens before its own
  void add(std::span<const std::int32_t> prepended, std::span<const std::int32_t> own,
           Sequence about);
  void truncate(std::int64_t count);
  /// Returns the SHA-256 of the model's input and its labels: per sequence the number of tokens
  /// (int64), the ids (int32), label (int8), pair (int32) and task (int16), little-endian.
  std::string sha256() const;
};

/// Reads the input given by `options`.
/// @param tokenizer  null if the checkpoint has none; ids need none
/// @throws InvalidArgument, FormatError, IoError  as the functions for each kind of input; for a
///         sequence longer than ModelConfig::max_length(); for an id outside the vocabulary
///         (reports the first).
CaptureInput read_input(const CaptureOptions& options, const ModelConfig& config,
                        const Tokenizer* tokenizer);

/// Draws `count` tokens of each sequence that have a next one, or all, for the logit lens.
void select_for_lens(CaptureInput& input, std::int64_t count, std::uint64_t seed);

/// Selects the tokens that scores count.
/// @throws InvalidArgument  for a word that is not a single token
void select_scored(CaptureInput& input, const ScoreSelection& selection,
                   const Tokenizer* tokenizer);

/// Returns the tokenizer of the checkpoint; null if it has none and token ids do not need one.
std::unique_ptr<Tokenizer> tokenizer_for(const CaptureOptions& options);

}  // namespace lime
