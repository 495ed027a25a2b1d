// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lime {

/// Draws `count` of the numbers below `total` without replacement, ascending; all if there are no
/// more. Depends on total, count and seed only, so that captures of one text get the same rows.
std::vector<std::int64_t> draw_rows(std::int64_t total, std::int64_t count, std::uint64_t seed);

/// Rows of tokens that occur often: `size` occurrences of each, one token after the other.
struct TokenClasses {
  std::vector<std::int64_t> rows;  ///< [num_classes * size]
  std::int64_t num_classes = 0;
};

/// Draws the classes of LiDAR: at most `count` tokens, `size` occurrences of each.
/// @param tokens  id of the token of each row, [num_rows].
/// @throws InvalidArgument  if fewer than 2 tokens occur often enough.
TokenClasses draw_token_classes(std::span<const std::int32_t> tokens, std::int64_t size,
                                std::int64_t count, std::uint64_t seed);

}  // namespace lime
