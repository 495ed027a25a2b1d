// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"

namespace lime {

/// Lists the types of SentencePiece's pieces; the numbers are those of its model and of GGUF files.
enum class PieceType {
  kNormal = 1,
  kUnknown = 2,      ///< stands for what no piece covers
  kControl = 3,      ///< BOS, EOS and other tokens that no text contains
  kUserDefined = 4,  ///< matched whole in a text, before it is cut
  kUnused = 5,
  kByte = 6  ///< "<0x0A>"
};

/// An entry of a SentencePiece vocabulary; its id is its place in the list.
struct VocabularyPiece {
  std::string text;  ///< with U+2581 for spaces
  PieceType type = PieceType::kNormal;
  double score = 0.0;  ///< neighbours whose joint piece scores highest are joined first
};

struct PieceTokenizerOptions {
  std::optional<std::int32_t> bos_id = std::nullopt;  ///< set: put before every text
  std::optional<std::int32_t> eos_id = std::nullopt;  ///< set: put after every text
  bool add_space_prefix = true;                       ///< a text begins with a space of its own
};

/// Returns the tokenizer.json that gives the ids of a SentencePiece model of type BPE without
/// normalization.
///
/// SentencePiece joins the neighbours whose joint piece scores highest. A piece's merges are all
/// its splits into two pieces; they are ordered by its score, equal scores by its id.
Json piece_tokenizer_json(const std::vector<VocabularyPiece>& pieces,
                          const PieceTokenizerOptions& options);

/// Returns an entry of `added_tokens` in tokenizer.json.
Json special_token_json(std::int32_t id, std::string_view token);

/// A token's id and text.
using NamedToken = std::pair<std::int32_t, std::string>;

/// Returns the post-processor of tokenizer.json that puts tokens around every text.
Json template_json(const std::optional<NamedToken>& before, const std::optional<NamedToken>& after);

}  // namespace lime
