// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/tokenizer/json_fields.h"

namespace lime {

/// A token that is taken from the text as a whole, before anything is cut. Fields as in
/// tokenizer.json.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool special = false;      ///< a control token: decoding leaves it out
  bool normalized = true;    ///< looked for in the normalised text, after the other ones
  bool single_word = false;  ///< only where no word character is beside it
  bool lstrip = false;       ///< swallows the white space on its left
  bool rstrip = false;       ///< swallows the white space on its right
};

/// Returns an added token of the files, without its id.
/// @param fields  the object with `content` and the flags.
AddedToken read_added_token(const JsonFields& fields);

/// Finds which of many strings occurs first, the longest of those at one place. A trie with a
/// filter on the first two bytes; time at most the length of the text times that of the longest
/// string. Thread-safe once filled.
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

/// Cuts added tokens out of a text as Hugging Face's AddedVocabulary does. Thread-safe.
class AddedTokenFinder {
 public:
  /// @param contents  what to look for, one for each of `tokens`.
  AddedTokenFinder(std::vector<AddedToken> tokens, const std::vector<std::string>& contents);
  AddedTokenFinder() = default;

  bool empty() const { return tokens_.empty(); }

  /// A stretch of the text: an added token, or ordinary text (then `token` is null). Never empty,
  /// but for tokens whose text an earlier one swallowed.
  struct Part {
    std::string_view text;
    const AddedToken* token = nullptr;
  };
  /// @param skip_special  leaves special tokens as ordinary text.
  std::vector<Part> split(std::string_view text, bool skip_special) const;

 private:
  std::vector<AddedToken> tokens_;
  PatternSet patterns_;
};

}  // namespace lime
