// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/selection.h"

#include <algorithm>

#include "core/errors.h"

namespace lime::explorer {

Json tokensToJson(const TokenSelection& tokens) {
  std::vector<std::int32_t> numbers;
  numbers.reserve(2 * tokens.places.size());
  for (const TokenPlace& place : tokens.places) {
    numbers.push_back(place.sequence);
    numbers.push_back(place.position);
  }
  return {{"text", tokens.text}, {"places", numbers}};
}

TokenSelection tokensFromJson(const Json& json) {
  TokenSelection tokens;
  std::vector<std::int32_t> numbers;
  try {
    json.at("text").get_to(tokens.text);
    json.at("places").get_to(numbers);
  } catch (const Json::exception& error) {
    throw FormatError("selected tokens: must have 'text' and 'places', {}", error.what());
  }
  throw_if<FormatError>(numbers.size() % 2 != 0,
                        "selected tokens: 'places' must be pairs of numbers, got {} numbers",
                        numbers.size());
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    tokens.places.push_back({numbers[i], numbers[i + 1]});
  }
  std::ranges::sort(tokens.places);
  const auto rest = std::ranges::unique(tokens.places);
  tokens.places.erase(rest.begin(), rest.end());
  return tokens;
}

}  // namespace lime::explorer
