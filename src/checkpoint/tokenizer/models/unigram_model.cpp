// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/models/unigram_model.h"

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

}  // namespace

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
      offer(begin, end, scores_[id], id);
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

}  // namespace lime
