// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/hugging_face_tokenizer.h"

#include <algorithm>
#include <cstring>

#include "checkpoint/tokenizer/models/vocabulary.h"
#include "checkpoint/tokenizer/work_budget.h"
#include "core/errors.h"
#include "core/threads/object_pool.h"
#include "core/utf8.h"

namespace lime {
namespace {

constexpr std::string_view kMetaspace = "\u2581";
constexpr std::string_view kBpe = "bpe";

std::string_view kind_of(const TokenizerParts& parts) {
  if (parts.unigram) return "unigram";
  if (parts.word_piece) return "wordpiece";
  if (parts.model.whole_words) return "word-level";
  return parts.model.byte_level ? "byte-level-bpe" : kBpe;
}

std::vector<UnigramModel::Piece> pieces_of(const TokenizerParts& parts) {
  std::vector<UnigramModel::Piece> pieces;
  for (std::size_t i = 0; i < parts.scores.size(); ++i) {
    pieces.emplace_back(parts.vocabulary[i].first, parts.scores[i]);
  }
  return pieces;
}

std::unique_ptr<const SubwordModel> make_model(const TokenizerParts& parts,
                                               const Vocabulary& vocabulary) {
  if (parts.unigram) {
    return std::make_unique<UnigramModel>(pieces_of(parts), *parts.unigram, parts.where);
  }
  if (parts.word_piece) {
    return std::make_unique<WordPieceModel>(parts.vocabulary, *parts.word_piece);
  }
  return std::make_unique<BpeModel>(vocabulary, parts.merges, parts.model, parts.where);
}

/// The model's tokens and the added ones together; a token that is in both must have one id.
Vocabulary merge_vocabulary(const TokenizerParts& parts) {
  const Vocabulary model(parts.vocabulary, parts.where + ": model.vocab");
  auto entries = parts.vocabulary;
  std::unordered_map<std::string, std::int32_t> extra;
  for (const AddedToken& token : parts.added_tokens) {
    auto known = model.find(token.content);
    if (const auto seen = extra.find(token.content); seen != extra.end()) known = seen->second;
    if (known && *known != token.id) {
      throw FormatError("{}: added token '{}' must have one id, got {} and {}", parts.where,
                        printable(token.content), *known, token.id);
    }
    if (known) continue;
    extra.emplace(token.content, token.id);
    entries.emplace_back(token.content, token.id);
  }
  return Vocabulary(std::move(entries), parts.where + ": vocabulary and added tokens");
}

/// Caches ids in one megabyte; a new word replaces the one with the same hash. One per thread.
class WordCache {
 public:
  static constexpr std::size_t kLongestWord = 30;
  static constexpr std::size_t kMaxIds = 8;

  WordCache() : slots_(kSlots), counts_(kSlots) {}

  /// A word, padded with zeros, and its length in the last byte.
  using Key = std::array<char, 32>;
  struct Place {
    std::size_t slot = 0;
    Key key{};
  };

  /// Returns the slot of `word`.
  /// @param word  not empty, at most kLongestWord bytes.
  static Place place_of(std::string_view word) {
    Place place;
    std::memcpy(place.key.data(), word.data(), word.size());
    place.key.back() = static_cast<char>(word.size());
    std::array<std::uint64_t, 4> parts{};
    std::memcpy(parts.data(), place.key.data(), sizeof(parts));
    std::uint64_t hash = 0;
    for (const std::uint64_t part : parts) {
      hash = (hash ^ part) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 32;
    }
    place.slot = static_cast<std::size_t>(hash) & (kSlots - 1);
    return place;
  }

  /// Returns the ids of the word at `place`; empty if it is not cached.
  std::span<const std::int32_t> find(const Place& place) const {
    const Slot& slot = slots_[place.slot];
    if (slot.key != place.key) return {};
    return {slot.ids.data(), counts_[place.slot]};
  }

  /// Caches `ids` if there are few enough.
  void insert(const Place& place, std::span<const std::int32_t> ids) {
    if (ids.empty() || ids.size() > kMaxIds) return;
    Slot& slot = slots_[place.slot];
    slot.key = place.key;
    std::memcpy(slot.ids.data(), ids.data(), ids.size_bytes());
    counts_[place.slot] = static_cast<std::uint8_t>(ids.size());
  }

 private:
  struct Slot {
    Key key{};
    std::array<std::int32_t, kMaxIds> ids{};
  };
  static constexpr std::size_t kSlots = std::size_t{1} << 14;
  static_assert(sizeof(Slot) == 64);

  std::vector<Slot> slots_;
  std::vector<std::uint8_t> counts_;
};

/// The memory of one call.
struct Scratch {
  PreTokenizer::Scratch pre_tokenizer;
  BpeScratch bpe;
  WordCache cache;
  std::vector<std::int32_t> word_ids;
};

/// Encodes the pieces that the pre-tokenizer makes, until there are enough ids.
class WordEncoder : public PieceConsumer {
 public:
  WordEncoder(const SubwordModel& model, std::string_view cut_before, Scratch& scratch,
              std::size_t text_bytes, std::size_t max_ids)
      : model_(model),
        cut_before_(cut_before),
        scratch_(scratch),
        budget_(text_bytes),
        max_ids_(max_ids) {
    ids_.reserve(std::min(text_bytes / 4 + 8, max_ids_));
  }

  bool is_full() const override { return ids_.size() >= max_ids_; }
  void add(std::int32_t id) { ids_.push_back(id); }
  Scratch& scratch() { return scratch_; }
  WorkBudget& budget() { return budget_; }
  /// Returns the ids, at most as many as requested.
  std::vector<std::int32_t> take_ids() {
    if (ids_.size() > max_ids_) ids_.resize(max_ids_);
    return std::move(ids_);
  }

  void accept(const TextPiece& piece) override {
    if (cut_before_.empty()) return encode(piece.text);
    std::string_view rest = piece.text;
    while (!rest.empty() && !is_full()) {
      std::size_t word_begin = 0;
      while (rest.substr(word_begin).starts_with(cut_before_)) word_begin += cut_before_.size();
      const std::size_t end = std::min(rest.find(cut_before_, word_begin), rest.size());
      encode(rest.substr(0, end));
      rest.remove_prefix(end);
    }
  }

 private:
  void encode(std::string_view word) {
    if (word.size() > WordCache::kLongestWord) return model_.encode(word, scratch_.bpe, ids_);
    const WordCache::Place place = WordCache::place_of(word);
    const auto known = scratch_.cache.find(place);
    if (!known.empty()) {
      ids_.insert(ids_.end(), known.begin(), known.end());
      return;
    }
    std::vector<std::int32_t>& ids = scratch_.word_ids;
    ids.clear();
    model_.encode(word, scratch_.bpe, ids);
    scratch_.cache.insert(place, ids);
    ids_.insert(ids_.end(), ids.begin(), ids.end());
  }

  const SubwordModel& model_;
  std::string_view cut_before_;
  Scratch& scratch_;
  WorkBudget budget_;
  std::size_t max_ids_;
  std::vector<std::int32_t> ids_;
};

class HuggingFaceTokenizer : public Tokenizer {
 public:
  explicit HuggingFaceTokenizer(TokenizerParts parts)
      : vocabulary_(merge_vocabulary(parts)),
        kind_(kind_of(parts)),
        model_(make_model(parts, vocabulary_)),
        normalizer_(std::move(parts.normalizer)),
        pre_tokenizer_(std::move(parts.pre_tokenizer)),
        decoder_(std::move(parts.decoder)),
        scratch_([this] {
          auto scratch = std::make_unique<Scratch>();
          scratch->pre_tokenizer = pre_tokenizer_.make_scratch();
          return scratch;
        }) {
    if (kind_ == kBpe && model_->can_cut_before(kMetaspace)) cut_before_ = kMetaspace;
    special_.assign(static_cast<std::size_t>(vocab_size()), false);
    for (const AddedToken& token : parts.added_tokens) {
      if (token.special) special_[token.id] = true;
    }
    split_special_tokens_ = parts.split_special_tokens;
    prepare_finders(std::move(parts.added_tokens));
    bos_id_ = parts.bos_id;
    eos_id_ = parts.eos_id;
    prefix_ids_ = std::move(parts.prefix_ids);
    suffix_ids_ = std::move(parts.suffix_ids);
    sha256_ = std::move(parts.sha256);
    for (const std::span<const std::int32_t> added : {prefix_ids(), suffix_ids()}) {
      for (const std::int32_t id : added) {
        if (id < vocab_size()) continue;
        throw FormatError("{}: post_processor: token ids must be in [0, {}), got {}", parts.where,
                          vocab_size(), id);
      }
    }
  }

  std::string piece(std::int32_t id, bool at_text_start) const override {
    check_id(id);
    return decoder_.piece(vocabulary_.token(id), at_text_start);
  }
  std::optional<std::int32_t> token_id(std::string_view token) const override {
    return vocabulary_.find(token);
  }
  bool is_special(std::int32_t id) const override {
    check_id(id);
    return special_[id];
  }
  std::int32_t vocab_size() const override { return vocabulary_.size(); }
  std::string_view kind() const override { return kind_; }

 private:
  std::vector<std::int32_t> encode_text(std::string_view text,
                                        const EncodeOptions& options) const override {
    const auto scratch = scratch_.borrow();
    WordEncoder encoder(*model_, cut_before_, *scratch, text.size(), options.max_ids);
    const bool skip_special = options.split_special_tokens || split_special_tokens_;
    for (const auto& raw : raw_tokens_.split(text, skip_special)) {
      if (encoder.is_full()) break;
      if (raw.token != nullptr) {
        encoder.add(raw.token->id);
      } else {
        encode_raw({.text = raw.text, .at_text_start = raw.text.data() == text.data()},
                   skip_special, encoder);
      }
    }
    return encoder.take_ids();
  }

  /// Encodes text in which no token is left that is looked for before the normalizer.
  void encode_raw(const TextPiece& piece, bool skip_special, WordEncoder& encoder) const {
    const std::string normalized =
        normalizer_.is_identity() ? std::string() : normalizer_.apply(piece.text, encoder.budget());
    const std::string_view ordinary = normalizer_.is_identity() ? piece.text : normalized;
    for (const auto& part : normalized_tokens_.split(ordinary, skip_special)) {
      if (encoder.is_full()) return;
      if (part.token != nullptr) {
        encoder.add(part.token->id);
        continue;
      }
      const bool first = piece.at_text_start && part.text.data() == ordinary.data();
      pre_tokenizer_.split({.text = part.text, .at_text_start = first},
                           encoder.scratch().pre_tokenizer, encoder.budget(), encoder);
    }
  }

  void prepare_finders(std::vector<AddedToken> tokens) {
    const auto middle = std::stable_partition(
        tokens.begin(), tokens.end(), [](const AddedToken& token) { return !token.normalized; });
    const std::vector<AddedToken> raw(tokens.begin(), middle);
    const std::vector<AddedToken> normalized(middle, tokens.end());
    std::vector<std::string> contents;
    contents.reserve(tokens.size());
    for (const AddedToken& token : raw) contents.push_back(token.content);
    raw_tokens_ = AddedTokenFinder(raw, contents);
    contents.clear();
    for (const AddedToken& token : normalized) {
      WorkBudget budget(token.content.size());
      contents.push_back(normalizer_.apply(token.content, budget));
    }
    normalized_tokens_ = AddedTokenFinder(normalized, contents);
  }

  Vocabulary vocabulary_;
  std::string_view kind_;
  std::unique_ptr<const SubwordModel> model_;
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  TokenDecoder decoder_;
  AddedTokenFinder raw_tokens_;         // matched in the raw text
  AddedTokenFinder normalized_tokens_;  // matched after the normalizer
  std::vector<bool> special_;
  bool split_special_tokens_ = false;
  std::string cut_before_;  // see WordEncoder
  mutable ObjectPool<Scratch> scratch_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_hugging_face_tokenizer(TokenizerParts parts) {
  return std::make_unique<HuggingFaceTokenizer>(std::move(parts));
}

}  // namespace lime
