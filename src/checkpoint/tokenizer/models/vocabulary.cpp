// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/models/vocabulary.h"

#include <algorithm>

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {

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

}  // namespace lime
