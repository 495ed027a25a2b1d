// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/pattern_set.h"

#include <utf8proc.h>

#include <filesystem>

namespace lime {

void PatternSet::add(std::string_view pattern, std::size_t value) {
  if (pattern.empty()) return;
  std::size_t node = 0;
  for (const char c : pattern) {
    const auto [child, added] = nodes_[node].children.try_emplace(c, nodes_.size());
    node = child->second;
    if (added) nodes_.emplace_back();
  }
  if (!nodes_[node].value) nodes_[node].value = value;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(pattern[i]); };
  if (pattern.size() == 1) {
    single_.set(byte(0));
  } else {
    starts_.set((std::size_t{byte(0)} << 8) | byte(1));
  }
}

std::optional<PatternSet::Match> PatternSet::longest_at(std::string_view text,
                                                        std::size_t begin) const {
  std::optional<Match> result;
  std::size_t node = 0;
  for (std::size_t at = begin; at < text.size(); ++at) {
    const auto child = nodes_[node].children.find(text[at]);
    if (child == nodes_[node].children.end()) break;
    node = child->second;
    if (const auto value = nodes_[node].value) {
      result = Match{.begin = begin, .end = at + 1, .value = *value};
    }
  }
  return result;
}

std::optional<PatternSet::Match> PatternSet::find(std::string_view text, std::size_t offset) const {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t at = offset; at < text.size(); ++at) {
    const bool pair_starts =
        at + 1 < text.size() && starts_[(std::size_t{byte(at)} << 8) | byte(at + 1)];
    if (!pair_starts && !single_[byte(at)]) continue;
    if (const auto match = longest_at(text, at)) return match;
  }
  return std::nullopt;
}

namespace {

namespace fs = std::filesystem;

}  // namespace

}  // namespace lime
