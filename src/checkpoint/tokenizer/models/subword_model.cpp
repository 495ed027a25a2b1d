// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/models/subword_model.h"

#include <algorithm>
#include <limits>

#include "checkpoint/tokenizer/unicode.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

constexpr double kUnknownPenalty = 10.0;

std::uint64_t edge(std::uint32_t node, char byte) {
  return std::uint64_t{node} << 8U | static_cast<unsigned char>(byte);
}

std::size_t num_characters(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_continuation));
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::pair<std::string, std::int32_t>> entries,
                       const std::string& where) {
  std::ranges::sort(entries, [](const auto& a, const auto& b) { return a.second < b.second; });
  tokens_.reserve(entries.size());
  for (auto& [token, id] : entries) {
    if (id < size()) {
      throw FormatError("{}: ids must differ, got {} for both '{}' and '{}'", where, id,
                        printable(tokens_.back()), printable(token));
    }
    throw_if<FormatError>(id > size(),
                          "{}: ids must run from 0 without gaps, got {} tokens and no id {}", where,
                          entries.size(), size());
    tokens_.push_back(std::move(token));
  }
  ids_.reserve(tokens_.size());
  for (std::int32_t id = 0; id < size(); ++id) {
    const auto [known, added] = ids_.emplace(token(id), id);
    if (!added) {
      throw FormatError("{}: tokens must differ, got '{}' with the ids {} and {}", where,
                        printable(token(id)), known->second, id);
    }
  }
}

std::optional<std::int32_t> Vocabulary::find(std::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

UnigramModel::UnigramModel(const std::vector<Piece>& pieces, const UnigramOptions& options,
                           const std::string& where)
    : options_(options) {
  if (options_.unknown_id && static_cast<std::size_t>(*options_.unknown_id) >= pieces.size()) {
    throw FormatError("{}: model.unk_id must be in [0, {}), got {}", where, pieces.size(),
                      *options_.unknown_id);
  }
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [token, score] : pieces) {
    const auto id = static_cast<std::int32_t>(scores_.size());
    ids_[token] = id;
    if (!token.empty()) add_to_trie(token, id);
    scores_.push_back(score);
    least = std::min(least, score);
  }
  unknown_score_ = least - kUnknownPenalty;
}

void UnigramModel::add_to_trie(std::string_view token, std::int32_t id) {
  std::uint32_t node = 0;
  for (const char byte : token) {
    const auto next = static_cast<std::uint32_t>(node_ids_.size());
    const auto [child, is_new] = children_.emplace(edge(node, byte), next);
    if (is_new) node_ids_.push_back(-1);
    node = child->second;
  }
  node_ids_[node] = id;
}

std::int32_t UnigramModel::unknown_id(std::string_view word) const {
  if (options_.unknown_id) return *options_.unknown_id;
  throw InvalidArgument(
      "tokenizer: every character must have a token, got '{}', and there is no "
      "unknown token",
      printable(word, 120));
}

std::vector<UnigramModel::Step> UnigramModel::best_steps(std::string_view word) const {
  std::vector<Step> steps(word.size() + 1);
  const auto offer = [&](std::size_t begin, std::size_t end, double score, std::int32_t id) {
    Step& step = steps[end];
    const double sum = score + steps[begin].score;
    if (step.begin == kUnreached || sum > step.score) {
      step = {.score = sum, .begin = begin, .id = id};
    }
  };
  for (std::size_t begin = 0; begin < word.size();) {
    const std::size_t next = character_end(word, begin);
    bool has_character = false;
    std::uint32_t node = 0;
    for (std::size_t end = begin; end < word.size();) {
      const auto child = children_.find(edge(node, word[end]));
      if (child == children_.end()) break;
      node = child->second;
      ++end;
      const std::int32_t id = node_ids_[node];
      if (id < 0) continue;
      offer(begin, end, scores_[static_cast<std::size_t>(id)], id);
      has_character |= end == next;
    }
    if (!has_character) offer(begin, next, unknown_score_, unknown_id(word));
    begin = next;
  }
  return steps;
}

void UnigramModel::append(std::string_view token, std::vector<std::int32_t>& ids) const {
  if (const auto found = ids_.find(std::string(token)); found != ids_.end()) {
    return ids.push_back(found->second);
  }
  const std::size_t first = ids.size();
  for (std::size_t i = 0; options_.byte_fallback && i < token.size(); ++i) {
    const auto byte = ids_.find(fmt::format("<0x{:02X}>", static_cast<unsigned char>(token[i])));
    if (byte == ids_.end()) {
      ids.resize(first);
      break;
    }
    ids.push_back(byte->second);
  }
  if (ids.size() == first) ids.push_back(unknown_id(token));
}

void UnigramModel::encode(std::string_view word, BpeScratch& /*scratch*/,
                          std::vector<std::int32_t>& ids) const {
  const std::vector<Step> steps = best_steps(word);
  std::vector<std::string_view> tokens;
  std::size_t unknown_end = 0;  // of a run of unknown characters; 0: none
  for (std::size_t end = word.size(); end > 0;) {
    const Step& step = steps[end];
    const bool is_unknown = options_.unknown_id && step.id == *options_.unknown_id;
    if (is_unknown) {
      if (unknown_end == 0) unknown_end = end;
    } else {
      if (unknown_end > 0) tokens.push_back(word.substr(end, unknown_end - end));
      unknown_end = 0;
      tokens.push_back(word.substr(step.begin, end - step.begin));
    }
    end = step.begin;
  }
  if (unknown_end > 0) tokens.push_back(word.substr(0, unknown_end));
  for (auto token = tokens.rbegin(); token != tokens.rend(); ++token) append(*token, ids);
}

WordPieceModel::WordPieceModel(const std::vector<std::pair<std::string, std::int32_t>>& vocabulary,
                               WordPieceOptions options)
    : options_(std::move(options)) {
  for (const auto& [token, id] : vocabulary) {
    ids_.emplace(token, id);
    longest_ = std::max(longest_, token.size());
  }
}

std::optional<WordPieceModel::Piece> WordPieceModel::longest_piece(std::string_view rest,
                                                                   bool continues) const {
  std::string token = continues ? options_.continuing_subword_prefix : "";
  const std::size_t prefix = token.size();
  std::size_t length = std::min(rest.size(), longest_);
  token += rest.substr(0, length);
  for (; length > 0; --length) {
    token.resize(prefix + length);
    if (length < rest.size() && is_continuation(rest[length])) continue;
    if (const auto found = ids_.find(token); found != ids_.end()) return {{length, found->second}};
  }
  return std::nullopt;
}

void WordPieceModel::encode(std::string_view word, BpeScratch& /*scratch*/,
                            std::vector<std::int32_t>& ids) const {
  const std::size_t first = ids.size();
  bool is_known = num_characters(word) <= options_.max_input_chars_per_word;
  for (std::size_t at = 0; is_known && at < word.size();) {
    const auto piece = longest_piece(word.substr(at), at > 0);
    is_known = piece.has_value();
    if (!is_known) break;
    ids.push_back(piece->id);
    at += piece->length;
  }
  if (is_known) return;
  ids.resize(first);
  const auto unknown = ids_.find(options_.unknown_token);
  if (unknown == ids_.end()) {
    throw InvalidArgument(
        "tokenizer: every word must be made of tokens, got '{}', and there is no "
        "unknown token '{}'",
        printable(word, 120), printable(options_.unknown_token, 120));
  }
  ids.push_back(unknown->second);
}

}  // namespace lime
