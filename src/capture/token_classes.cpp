// SPDX-License-Identifier: Apache-2.0
#include "capture/token_classes.h"

#include <map>
#include <optional>
#include <string_view>

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Tokens by the bytes that they add; the lowest id where several add the same.
std::map<std::string, std::int32_t> tokens_by_text(const std::vector<std::string>& texts,
                                                   const Tokenizer& tokenizer) {
  std::map<std::string, std::int32_t> found;
  for (const std::string& text : texts) found.emplace(text, -1);
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    std::string piece;
    try {
      piece = tokenizer.piece(id);
    } catch (const InvalidArgument&) {
      continue;  // a hole in the vocabulary
    }
    const auto entry = found.find(piece);
    if (entry != found.end() && entry->second < 0 && !tokenizer.is_special(id)) entry->second = id;
  }
  return found;
}

std::string pieces_of(const std::string& text, const Tokenizer& tokenizer) {
  std::string pieces;
  for (const std::int32_t id : tokenizer.encode(text)) {
    pieces += (pieces.empty() ? "'" : ", '") + tokenizer.token_text(id) + "'";
  }
  return pieces;
}

}  // namespace

std::vector<TokenClass> find_token_classes(const std::vector<std::string>& texts,
                                           const Tokenizer& tokenizer) {
  const std::map<std::string, std::int32_t> found = tokens_by_text(texts, tokenizer);
  std::vector<TokenClass> classes;
  for (const std::string& text : texts) {
    const std::int32_t id = found.at(text);
    if (id >= 0) {
      classes.push_back({text, id});
      continue;
    }
    const std::string other = text.starts_with(' ') ? text.substr(1) : " " + text;
    const auto alternative = tokens_by_text({other}, tokenizer).at(other);
    throw InvalidArgument("only: each text must be one token, '{}' is several ({}){}",
                          printable(text), pieces_of(text, tokenizer),
                          alternative < 0 ? std::string("; choose other words")
                                          : fmt::format("; '{}' would be one", other));
  }
  return classes;
}

}  // namespace lime
