// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/models/word_piece_model.h"

#include <algorithm>

#include "checkpoint/tokenizer/unicode.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

std::size_t num_characters(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_continuation));
}

}  // namespace

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
