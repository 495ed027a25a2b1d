// SPDX-License-Identifier: Apache-2.0
#pragma once

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

}  // namespace lime
