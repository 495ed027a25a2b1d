// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lime {

/// Vocabulary with a token for each word of a task: `<pad>`, `<s>`, `</s>`, then its words. Texts
/// are words separated by spaces. Thread-safe: all methods are const.
class WordVocabulary {
 public:
  static constexpr std::int32_t kPad = 0;
  static constexpr std::int32_t kBos = 1;
  static constexpr std::int32_t kEos = 2;

  /// @param name   of the vocabulary, for errors.
  /// @param kinds  description of its words, for errors, e.g. "names, concepts or `.`".
  /// @param words  in the order of their ids, all distinct.
  WordVocabulary(std::string name, std::string kinds, std::span<const std::string> words);

  std::int32_t size() const { return static_cast<std::int32_t>(tokens_.size()); }

  /// @throws InvalidArgument  if it is not in the vocabulary.
  std::int32_t id_of(std::string_view word) const;
  /// Returns the ids of the words of `text`; a literal `<s>` or `</s>` counts as a word.
  /// @throws InvalidArgument  naming the first word that is not in the vocabulary.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// Joins the words of `ids` by single spaces. @throws InvalidArgument  for an unknown id.
  std::string decode(std::span<const std::int32_t> ids) const;

  /// Returns the files for Hugging Face's tokenizers and load_tokenizer(): a WordLevel model over
  /// space-separated words, which prepends `<s>` to a text.
  std::map<std::string, std::string> files() const;

 private:
  std::string name_;
  std::string kinds_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, std::int32_t> ids_;
};

}  // namespace lime
