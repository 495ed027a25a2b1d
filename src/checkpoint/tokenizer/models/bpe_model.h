// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkpoint/tokenizer/models/merge_table.h"
#include "checkpoint/tokenizer/models/subword_model.h"
#include "checkpoint/tokenizer/models/vocabulary.h"

namespace lime {

struct BpeOptions {
  /// The vocabulary is spelt in GPT-2's byte alphabet and words are plain bytes.
  bool byte_level = false;
  /// Characters without a token become tokens such as `<0xE2>`, one per byte.
  bool byte_fallback = false;
  /// Several unknown characters in a row become one unknown token.
  bool fuse_unknown = false;
  /// A word that is a token as a whole is not cut (LLaMA 3).
  bool ignore_merges = false;
  /// Words are never cut (Hugging Face's WordLevel); others become `unknown_token`.
  bool whole_words = false;
  /// In front of the characters of a word but the first, and of tokens that begin with them.
  std::string continuing_subword_prefix = {};
  /// Behind the last character of a word, and tokens that end with it.
  std::string end_of_word_suffix = {};
  /// The token for characters that have none; without it they are dropped.
  std::optional<std::string> unknown_token = std::nullopt;
};

/// Scratch memory for encoding words, one per thread. Tests read the count of operations.
struct BpeScratch {
  struct Symbol {
    std::int32_t id = 0;
    std::int32_t previous = 0;
    std::int32_t next = 0;
  };
  struct Candidate {
    std::int32_t rank = 0;
    std::int32_t left = 0;  ///< index of the left symbol
    std::int32_t result = 0;
    /// Earlier rank first, then further left.
    bool operator>(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  std::vector<std::int32_t> ids;
  std::vector<Merge> merges;
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::uint64_t operations = 0;
};

/// Byte-pair encoding of one word: repeatedly joins the neighbouring pair of tokens whose merge was
/// learnt first, the leftmost of equals, until none is left.
///
/// Immutable and thread-safe. Time O(n log n) for a word of n characters; short words take a
/// simple O(n^2) loop that is faster for them.
/// Source: Sennrich, Haddow & Birch (2016), arXiv:1508.07909.
class BpeModel : public SubwordModel {
 public:
  using MergePair = std::pair<std::string, std::string>;

  /// @param merges  in the order learnt; `vocabulary` must outlive this object. @throws FormatError
  /// if a merge names a token that the vocabulary lacks; begins with `where`.
  BpeModel(const Vocabulary& vocabulary, const std::vector<MergePair>& merges,
           const BpeOptions& options, const std::string& where);

  void encode(std::string_view word, BpeScratch& scratch,
              std::vector<std::int32_t>& ids) const override;

  /// Returns true if `token` never follows another character inside a merged token.
  bool can_cut_before(std::string_view token) const override;

 private:
  class UnknownRun;
  void add_merges(const std::vector<MergePair>& merges, const std::string& where);
  void prepare_bytes();
  std::optional<std::int32_t> whole_word(std::string_view word) const;
  std::int32_t only_word(std::string_view word) const;
  void split_into_symbols(std::string_view word, std::vector<std::int32_t>& symbols) const;
  void split_marked_word(std::string_view word, std::vector<std::int32_t>& symbols) const;
  void fall_back(std::string_view written, UnknownRun& unknown,
                 std::vector<std::int32_t>& symbols) const;
  void merge_short(BpeScratch& scratch) const;
  void merge_long(BpeScratch& scratch) const;
  void push_candidate(BpeScratch& scratch, std::int32_t left) const;

  const Vocabulary& vocabulary_;
  BpeOptions options_;
  std::optional<std::int32_t> unknown_id_;
  MergeTable merges_;
  std::vector<std::int32_t> merged_ids_;          // every id that a merge makes
  std::array<std::int32_t, 256> byte_ids_{};      // byte level: the token of each byte, or -1
  std::array<std::int32_t, 256> fallback_ids_{};  // the token <0xXX> of each byte, or -1
  std::unordered_map<std::string, std::int32_t> whole_words_;  // ignore_merges, by plain bytes
};

}  // namespace lime
