// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lime {

/// Stores the tokens of a tokenizer as its file spells them, and their ids 0 to size() - 1.
/// Movable, not copyable (the index refers to the strings). Thread-safe once filled.
class Vocabulary {
 public:
  Vocabulary() = default;
  /// @param entries  token and id, in any order. @throws FormatError  if a token or id occurs twice
  /// or the ids have gaps; begins with `where`.
  Vocabulary(std::vector<std::pair<std::string, std::int32_t>> entries, const std::string& where);
  Vocabulary(Vocabulary&&) noexcept = default;
  Vocabulary& operator=(Vocabulary&&) noexcept = default;
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  std::int32_t size() const { return static_cast<std::int32_t>(tokens_.size()); }
  std::optional<std::int32_t> find(std::string_view token) const;
  const std::string& token(std::int32_t id) const { return tokens_[id]; }

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string_view, std::int32_t> ids_;
};

struct BpeScratch;

/// The `model` of tokenizer.json: cuts pieces into tokens. Immutable and thread-safe.
class SubwordModel {
 public:
  virtual ~SubwordModel() = default;
  /// Appends the ids of `word` to `ids`; `scratch` is the calling thread's.
  /// @throws InvalidArgument  if the word has no tokens and the model no unknown token.
  virtual void encode(std::string_view word, BpeScratch& scratch,
                      std::vector<std::int32_t>& ids) const = 0;
  /// Returns true if words may be cut before each run of `token` without changing the ids.
  virtual bool can_cut_before(std::string_view /*token*/) const { return false; }
};

struct UnigramOptions {
  std::optional<std::int32_t> unknown_id = std::nullopt;
  /// Unknown text becomes tokens such as `<0xE2>`, one per byte, if the vocabulary has all of them.
  bool byte_fallback = false;
};

/// Cuts a word into the tokens whose log probabilities have the largest sum (the Viterbi path). A
/// character without a token costs 10 more than the least probable one; several in a row become one
/// unknown token. Time: the length of the word times that of the longest token.
/// Source: Kudo (2018), arXiv:1804.10959; `tokenizers` 0.23, models/unigram, whose order of
/// additions, in double precision, is kept.
class UnigramModel : public SubwordModel {
 public:
  using Piece = std::pair<std::string, double>;  ///< token and log probability; ids in order

  /// @param where  the file, for errors. @throws FormatError  if an unknown_id is not in `pieces`.
  UnigramModel(const std::vector<Piece>& pieces, const UnigramOptions& options,
               const std::string& where);

  void encode(std::string_view word, BpeScratch& scratch,
              std::vector<std::int32_t>& ids) const override;

 private:
  /// The best way to cut the text up to a byte.
  struct Step {
    double score = 0.0;
    std::size_t begin = kUnreached;
    std::int32_t id = 0;
  };
  static constexpr std::size_t kUnreached = static_cast<std::size_t>(-1);

  void add_to_trie(std::string_view token, std::int32_t id);
  std::vector<Step> best_steps(std::string_view word) const;
  std::int32_t unknown_id(std::string_view word) const;
  void append(std::string_view token, std::vector<std::int32_t>& ids) const;

  UnigramOptions options_;
  std::vector<double> scores_;
  double unknown_score_ = 0.0;
  std::unordered_map<std::string, std::int32_t> ids_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // node * 256 + byte: node
  std::vector<std::int32_t> node_ids_ = {-1};                  // the token that ends there
};

struct WordPieceOptions {
  std::string unknown_token = "[UNK]";
  /// Prefix of tokens that continue a word.
  std::string continuing_subword_prefix = "##";
  /// A longer word is unknown.
  std::size_t max_input_chars_per_word = 100;
};

/// BERT's model: splits a word from the left into the longest matching tokens, or returns the
/// unknown token for a word that cannot be split completely. Time at most the length of the word
/// times that of the longest token. Source: `tokenizers` 0.23, models/wordpiece.
class WordPieceModel : public SubwordModel {
 public:
  WordPieceModel(const std::vector<std::pair<std::string, std::int32_t>>& vocabulary,
                 WordPieceOptions options);

  void encode(std::string_view word, BpeScratch& scratch,
              std::vector<std::int32_t>& ids) const override;

 private:
  struct Piece {
    std::size_t length = 0;
    std::int32_t id = 0;
  };
  std::optional<Piece> longest_piece(std::string_view rest, bool continues) const;

  WordPieceOptions options_;
  std::unordered_map<std::string, std::int32_t> ids_;
  std::size_t longest_ = 0;  // bytes of the longest token
};

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

/// Describes the token that two neighbouring tokens merge into, and its rank (lower merges first).
struct Merge {
  static constexpr std::int32_t kNone = -1;
  std::int32_t rank = kNone;
  std::int32_t result = kNone;

  bool exists() const { return rank != kNone; }
};

/// The merges of a BPE model by the pair of tokens: a hash table with open addressing, at most half
/// full, because encoding spends its time on look-ups. Thread-safe once filled.
class MergeTable {
 public:
  explicit MergeTable(std::size_t capacity = 0)
      : entries_(std::bit_ceil(2 * capacity + 2)),
        shift_(64 - static_cast<int>(std::bit_width(entries_.size() - 1))) {}

  /// Adds the merge of a pair, or replaces it.
  void insert(std::int32_t left, std::int32_t right, Merge merge) {
    Entry& entry = entries_[slot_of(key_of(left, right))];
    entry = {.key = key_of(left, right), .merge = merge};
  }

  /// @return a merge that does not exist() if the pair does not merge.
  Merge find(std::int32_t left, std::int32_t right) const {
    return entries_[slot_of(key_of(left, right))].merge;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // no pair of ids >= 0 has this key
  struct Entry {
    std::uint64_t key = kEmpty;
    Merge merge;
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) |
           static_cast<std::uint32_t>(right);
  }

  /// Returns the slot of `key`, or the empty one for it.
  std::size_t slot_of(std::uint64_t key) const {
    const std::uint64_t folded = key ^ (key >> 29);
    std::size_t slot = static_cast<std::size_t>((folded * 0x9E3779B97F4A7C15ULL) >> shift_);
    while (entries_[slot].key != key && entries_[slot].key != kEmpty) {
      slot = (slot + 1) & (entries_.size() - 1);
    }
    return slot;
  }

  std::vector<Entry> entries_;
  int shift_;
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
