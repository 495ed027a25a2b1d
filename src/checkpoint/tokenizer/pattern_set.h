// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

namespace lime {

/// Finds the leftmost of many strings, the longest at one place. A trie with a filter on the first
/// two bytes; time at most text length times the longest string. Thread-safe once filled.
class PatternSet {
 public:
  /// Adds `pattern`; the first of equal patterns counts, an empty one is left out.
  void add(std::string_view pattern, std::size_t value);

  struct Match {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t value = 0;
  };
  /// Returns the leftmost-longest match at or after `offset`.
  std::optional<Match> find(std::string_view text, std::size_t offset) const;

 private:
  struct Node {
    std::map<char, std::size_t> children;
    std::optional<std::size_t> value;
  };
  std::optional<Match> longest_at(std::string_view text, std::size_t begin) const;

  std::vector<Node> nodes_{1};
  std::bitset<65536> starts_;  // the first two bytes of patterns
  std::bitset<256> single_;    // patterns of one byte
};

}  // namespace lime
