// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/models/bpe_model.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>

#include "checkpoint/tokenizer/byte_alphabet.h"
#include "checkpoint/tokenizer/unicode.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Words up to this many symbols take the simple loop.
constexpr std::size_t kShortWord = 48;
constexpr std::int32_t kNoSymbol = -1;

}  // namespace

/// Collects the unknown characters of a word, joined or one by one.
class BpeModel::UnknownRun {
 public:
  UnknownRun(std::optional<std::int32_t> id, bool fuse) : id_(id), fuse_(fuse) {}

  void add(std::vector<std::int32_t>& symbols) {
    if (!id_) return;
    if (open_ && !fuse_) symbols.push_back(*id_);
    open_ = true;
  }
  void close(std::vector<std::int32_t>& symbols) {
    if (open_) symbols.push_back(*id_);
    open_ = false;
  }

 private:
  std::optional<std::int32_t> id_;
  bool fuse_;
  bool open_ = false;
};

BpeModel::BpeModel(const Vocabulary& vocabulary, const std::vector<MergePair>& merges,
                   const BpeOptions& options, const std::string& where)
    : vocabulary_(vocabulary), options_(options), merges_(merges.size()) {
  if (options_.unknown_token) {
    unknown_id_ = vocabulary_.find(*options_.unknown_token);
    // WordLevel files name one that they do not have, to make unknown words an error.
    throw_if<FormatError>(!unknown_id_ && !options_.whole_words,
                          "{}: unk_token must be in the vocabulary, got '{}'", where,
                          printable(*options_.unknown_token));
  }
  prepare_bytes();
  add_merges(merges, where);
}

void BpeModel::prepare_bytes() {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::string fallback = fmt::format("<0x{:02X}>", byte);
    fallback_ids_.at(byte) = vocabulary_.find(fallback).value_or(-1);
    byte_ids_.at(byte) =
        vocabulary_.find(spell_byte(static_cast<unsigned char>(byte))).value_or(-1);
  }
  if (!options_.ignore_merges) return;
  for (std::int32_t id = 0; id < vocabulary_.size(); ++id) {
    const std::string& token = vocabulary_.token(id);
    if (!options_.byte_level) {
      whole_words_.emplace(token, id);
    } else if (auto bytes = bytes_of_spelling(token)) {
      whole_words_.emplace(*std::move(bytes), id);
    }
  }
}

void BpeModel::add_merges(const std::vector<MergePair>& merges, const std::string& where) {
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string& left = merges[rank].first;
    const std::string& right = merges[rank].second;
    const auto id_of = [&](const std::string& token) {
      const auto id = vocabulary_.find(token);
      if (id) return *id;
      throw FormatError("{}: merge {}, '{} {}', must consist of tokens in the vocabulary, got '{}'",
                        where, rank, printable(left), printable(right), printable(token));
    };
    const std::size_t prefix = options_.continuing_subword_prefix.size();
    const std::int32_t result = id_of(left + right.substr(std::min(prefix, right.size())));
    merges_.insert(id_of(left), id_of(right),
                   {.rank = static_cast<std::int32_t>(rank), .result = result});
    merged_ids_.push_back(result);
  }
}

bool BpeModel::can_cut_before(std::string_view token) const {
  const bool takes_whole_words = options_.ignore_merges || options_.whole_words;
  const bool has_marks =
      !options_.continuing_subword_prefix.empty() || !options_.end_of_word_suffix.empty();
  if (takes_whole_words || has_marks || !vocabulary_.find(token)) return false;
  return std::ranges::none_of(merged_ids_, [&](std::int32_t id) {
    std::string_view merged = vocabulary_.token(id);
    while (merged.starts_with(token)) merged.remove_prefix(token.size());
    return merged.find(token) != std::string_view::npos;
  });
}

std::optional<std::int32_t> BpeModel::whole_word(std::string_view word) const {
  const auto found = whole_words_.find(std::string(word));
  if (found == whole_words_.end()) return std::nullopt;
  return found->second;
}

std::int32_t BpeModel::only_word(std::string_view word) const {
  const auto id = vocabulary_.find(word);
  if (id) return *id;
  if (unknown_id_) return *unknown_id_;
  throw InvalidArgument("tokenizer: every word must be in the vocabulary, got '{}'",
                        printable(word));
}

void BpeModel::encode(std::string_view word, BpeScratch& scratch,
                      std::vector<std::int32_t>& ids) const {
  if (options_.whole_words) return ids.push_back(only_word(word));
  if (options_.ignore_merges) {
    if (const auto id = whole_word(word)) return ids.push_back(*id);
  }
  scratch.ids.clear();
  split_into_symbols(word, scratch.ids);
  if (scratch.ids.size() <= kShortWord) {
    merge_short(scratch);
  } else {
    merge_long(scratch);
  }
  ids.insert(ids.end(), scratch.ids.begin(), scratch.ids.end());
}

void BpeModel::split_into_symbols(std::string_view word, std::vector<std::int32_t>& symbols) const {
  constexpr auto kMaxSymbols = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  throw_if(word.size() > kMaxSymbols, "tokenizer: a word must be at most {} bytes long, got {}",
           kMaxSymbols, word.size());
  if (!options_.continuing_subword_prefix.empty() || !options_.end_of_word_suffix.empty()) {
    return split_marked_word(word, symbols);
  }
  UnknownRun unknown(unknown_id_, options_.fuse_unknown);
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t end = options_.byte_level ? at + 1 : character_end(word, at);
    const std::string_view character = word.substr(at, end - at);
    at = end;
    const auto byte = static_cast<unsigned char>(character.front());
    const std::int32_t id =
        options_.byte_level ? byte_ids_[byte] : vocabulary_.find(character).value_or(-1);
    if (id >= 0) {
      unknown.close(symbols);
      symbols.push_back(id);
      continue;
    }
    // If a byte-level file has both, the alphabet's spelling falls back, not the byte.
    fall_back(options_.byte_level ? spell_byte(byte) : character, unknown, symbols);
  }
  unknown.close(symbols);
}

/// Appends the tokens of the bytes of what has no token, if there are all of them.
void BpeModel::fall_back(std::string_view written, UnknownRun& unknown,
                         std::vector<std::int32_t>& symbols) const {
  const auto fallback = [&](char c) { return fallback_ids_[static_cast<unsigned char>(c)]; };
  const bool falls_back = options_.byte_fallback &&
                          std::ranges::all_of(written, [&](char c) { return fallback(c) >= 0; });
  if (!falls_back) return unknown.add(symbols);
  for (const char c : written) symbols.push_back(fallback(c));
}

/// split_into_symbols() where characters have a prefix or the last one a suffix.
void BpeModel::split_marked_word(std::string_view word, std::vector<std::int32_t>& symbols) const {
  std::string spelled;
  for (const char c : options_.byte_level ? word : std::string_view()) {
    spelled += spell_byte(static_cast<unsigned char>(c));
  }
  const std::string_view text = options_.byte_level ? std::string_view(spelled) : word;
  UnknownRun unknown(unknown_id_, options_.fuse_unknown);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = character_end(text, at);
    std::string symbol = at > 0 ? options_.continuing_subword_prefix : "";
    symbol += text.substr(at, end - at);
    if (end == text.size()) symbol += options_.end_of_word_suffix;
    at = end;
    if (const auto id = vocabulary_.find(symbol)) {
      unknown.close(symbols);
      symbols.push_back(*id);
    } else {
      fall_back(symbol, unknown, symbols);
    }
  }
  unknown.close(symbols);
}

void BpeModel::merge_short(BpeScratch& scratch) const {
  std::vector<std::int32_t>& ids = scratch.ids;
  if (ids.size() < 2) return;
  std::vector<Merge>& merges = scratch.merges;  // merges[i] joins ids[i] and ids[i + 1]
  merges.clear();
  for (std::size_t i = 0; i + 1 < ids.size(); ++i)
    merges.push_back(merges_.find(ids[i], ids[i + 1]));
  scratch.operations += ids.size();
  while (!merges.empty()) {
    std::size_t best = 0;
    auto best_rank = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t i = 0; i < merges.size(); ++i) {
      const auto rank = static_cast<std::uint32_t>(merges[i].rank);  // "none" is the largest
      if (rank < best_rank) {
        best_rank = rank;
        best = i;
      }
    }
    scratch.operations += merges.size();
    if (best_rank == std::numeric_limits<std::uint32_t>::max()) return;
    const auto offset = static_cast<std::ptrdiff_t>(best);
    ids[best] = merges[best].result;
    ids.erase(ids.begin() + offset + 1);
    merges.erase(merges.begin() + offset);
    if (best < merges.size()) merges[best] = merges_.find(ids[best], ids[best + 1]);
    if (best > 0) merges[best - 1] = merges_.find(ids[best - 1], ids[best]);
  }
}

void BpeModel::push_candidate(BpeScratch& scratch, std::int32_t left) const {
  const auto& symbol = scratch.symbols[left];
  if (symbol.next == kNoSymbol) return;
  const auto& next = scratch.symbols[symbol.next];
  const Merge merge = merges_.find(symbol.id, next.id);
  ++scratch.operations;
  if (!merge.exists()) return;
  scratch.heap.push_back({.rank = merge.rank, .left = left, .result = merge.result});
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), std::greater<>());
}

void BpeModel::merge_long(BpeScratch& scratch) const {
  auto& symbols = scratch.symbols;
  const auto symbol_at = [&](std::int32_t index) -> BpeScratch::Symbol& { return symbols[index]; };
  symbols.clear();
  const auto count = static_cast<std::int32_t>(scratch.ids.size());
  for (std::int32_t i = 0; i < count; ++i) {
    symbols.push_back(
        {.id = scratch.ids[i], .previous = i - 1, .next = i + 1 < count ? i + 1 : kNoSymbol});
  }
  scratch.heap.clear();
  for (std::int32_t i = 0; i < count; ++i) push_candidate(scratch, i);
  while (!scratch.heap.empty()) {
    std::pop_heap(scratch.heap.begin(), scratch.heap.end(), std::greater<>());
    const BpeScratch::Candidate candidate = scratch.heap.back();
    scratch.heap.pop_back();
    BpeScratch::Symbol& left = symbol_at(candidate.left);
    // Either symbol may have merged with another one since the candidate was pushed.
    if (left.id < 0 || left.next == kNoSymbol) continue;
    BpeScratch::Symbol& right = symbol_at(left.next);
    const Merge merge = merges_.find(left.id, right.id);
    ++scratch.operations;
    if (merge.rank != candidate.rank) continue;
    left.id = merge.result;
    right.id = -1;
    left.next = right.next;
    if (left.next != kNoSymbol) symbol_at(left.next).previous = candidate.left;
    push_candidate(scratch, candidate.left);
    if (left.previous != kNoSymbol) push_candidate(scratch, left.previous);
  }
  scratch.ids.clear();
  for (std::int32_t i = 0; i != kNoSymbol; i = symbol_at(i).next) {
    scratch.ids.push_back(symbol_at(i).id);
  }
}

}  // namespace lime
