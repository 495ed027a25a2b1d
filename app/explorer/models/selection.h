// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace lime::explorer {

/// The place of a token in its text, the same in all captures of the text.
struct TokenPlace {
  std::int32_t sequence = 0;
  std::int32_t position = 0;

  auto operator<=>(const TokenPlace&) const = default;
};

/// Tokens of one text. See TokenRows for their rows in a capture.
struct TokenSelection {
  std::string text = {};                ///< textOf() of the captures that contain it; empty: none
  std::vector<TokenPlace> places = {};  ///< ascending, each once

  bool empty() const { return places.empty(); }
  bool operator==(const TokenSelection&) const = default;
};

/// The selection that all views share. Layers and heads count from 0.
struct Selection {
  std::optional<int> layer = {};
  std::optional<int> head = {};          ///< target head of `layer`
  std::optional<int> source_layer = {};  ///< buffered layer that the head reads
  std::optional<int> source_head = {};
  TokenSelection tokens = {};

  bool operator==(const Selection&) const = default;
};

/// Serialises tokens for sessions: {"text": "...", "places": [sequence, position, ...]}.
Json tokensToJson(const TokenSelection& tokens);
/// @throws FormatError  if `json` is no such object.
TokenSelection tokensFromJson(const Json& json);

}  // namespace lime::explorer
