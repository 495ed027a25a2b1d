// SPDX-License-Identifier: Apache-2.0
#include "capture/row_selection.h"

#include <algorithm>
#include <unordered_map>

#include "core/utf8.h"

namespace lime {
namespace {

void append_row(RowTable& table, std::int64_t sequence, std::int64_t position, std::int32_t token) {
  table.sequence.push_back(static_cast<std::int32_t>(sequence));
  table.position.push_back(static_cast<std::int32_t>(position));
  table.token.push_back(token);
}

}  // namespace

RowSelection::RowSelection(const CaptureInput& input)
    : input_(input), selects_tokens_(true), num_sequences_(input.num_sequences()) {}

RowSelection::RowSelection(const CaptureInput& input, RowKind rows)
    : input_(input),
      kind_(rows),
      num_rows_(rows == RowKind::kTokens ? input.num_tokens() : input.num_sequences()),
      num_sequences_(input.num_sequences()) {}

RowSelection::RowSelection(const CaptureInput& input, const std::vector<TokenClass>& classes,
                           std::int64_t max_per_class)
    : input_(input),
      selects_tokens_(true),
      num_sequences_(input.num_sequences()),
      rows_per_class_(classes.size(), 0) {
  std::unordered_map<std::int32_t, std::size_t> class_of;
  for (std::size_t c = 0; c < classes.size(); ++c) class_of.emplace(classes[c].id, c);
  std::size_t num_full = 0;
  for (std::int64_t s = 0; s < input.num_sequences(); ++s) {
    const auto ids = input.ids_of(s);
    for (std::size_t t = 0; t < ids.size(); ++t) {
      const auto entry = class_of.find(ids[t]);
      if (entry == class_of.end() || rows_per_class_[entry->second] == max_per_class) continue;
      append_row(selected_, s, static_cast<std::int64_t>(t), ids[t]);
      selected_.class_id.push_back(static_cast<std::int16_t>(entry->second));
      if (++rows_per_class_[entry->second] == max_per_class) ++num_full;
    }
    if (num_full == classes.size()) {
      num_sequences_ = s + 1;
      break;
    }
  }
  num_rows_ = selected_.size();
}

RowTable RowSelection::rows_of(std::int64_t first, std::int64_t count) const {
  RowTable table;
  if (selects_tokens_) {
    const auto begin = std::ranges::lower_bound(selected_.sequence, first);
    const auto end = std::lower_bound(begin, selected_.sequence.end(), first + count);
    const auto copy = [&](const auto& from, auto& to) {
      to.assign(from.begin() + (begin - selected_.sequence.begin()),
                from.begin() + (end - selected_.sequence.begin()));
    };
    copy(selected_.sequence, table.sequence);
    copy(selected_.position, table.position);
    copy(selected_.token, table.token);
    copy(selected_.class_id, table.class_id);
    return table;
  }
  for (std::int64_t s = first; s < first + count; ++s) {
    const auto ids = input_.ids_of(s);
    const std::size_t start = kind_ == RowKind::kTokens ? 0 : ids.size() - 1;
    for (std::size_t t = start; t < ids.size(); ++t) {
      append_row(table, s, static_cast<std::int64_t>(t), ids[t]);
    }
  }
  return table;
}

namespace {

/// Maps bytes to tokens; the lowest id if several have the same bytes.
std::map<std::string, std::int32_t> tokens_by_text(const std::vector<std::string>& texts,
                                                   const Tokenizer& tokenizer) {
  std::map<std::string, std::int32_t> found;
  for (const std::string& text : texts) found.emplace(text, -1);
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    std::string piece;
    try {
      piece = tokenizer.piece(id);
    } catch (const InvalidArgument&) {
      continue;  // an unused id in the vocabulary
    }
    const auto entry = found.find(piece);
    if (entry != found.end() && entry->second < 0 && !tokenizer.is_special(id)) entry->second = id;
  }
  return found;
}

/// Encodes `text` as in the middle of a text. At the start SentencePiece would prepend a space.
std::vector<std::int32_t> encode_inside(const std::string& text, const Tokenizer& tokenizer) {
  static const std::string kBefore = "\n";
  const std::vector<std::int32_t> before = tokenizer.encode(kBefore);
  std::vector<std::int32_t> ids = tokenizer.encode(kBefore + text);
  if (ids.size() <= before.size() || !std::equal(before.begin(), before.end(), ids.begin())) {
    return tokenizer.encode(text);
  }
  ids.erase(ids.begin(), ids.begin() + std::ssize(before));
  return ids;
}

/// Returns "several ('a', 'b')", or the actual token if the text is one token with other bytes.
std::string pieces_of(const std::string& text, const Tokenizer& tokenizer) {
  const std::vector<std::int32_t> ids = encode_inside(text, tokenizer);
  std::string pieces;
  for (const std::int32_t id : ids) {
    pieces += (pieces.empty() ? "'" : ", '") + tokenizer.token_text(id) + "'";
  }
  return ids.size() == 1 ? "encoded as " + pieces : "several (" + pieces + ")";
}

/// Returns true if some word continues with the token `id`, whose text is `text`.
bool stands_inside_words(const std::string& text, std::int32_t id, const Tokenizer& tokenizer) {
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    const std::vector<std::int32_t> ids = tokenizer.encode(letter + text);
    if (std::ranges::find(ids, id) != ids.end()) return true;
  }
  return false;
}

/// Suggests the same word with or without the space before it, if that is a single token.
std::string advice_for(const std::string& text, const Tokenizer& tokenizer) {
  const std::string other = text.starts_with(' ') ? text.substr(1) : " " + text;
  const std::int32_t id = tokens_by_text({other}, tokenizer).at(other);
  if (id < 0) return "use other words";
  const bool is_ambiguous = !other.starts_with(' ') && stands_inside_words(other, id, tokenizer);
  return fmt::format("'{}' would be one{}", printable(other),
                     is_ambiguous ? ", but it also occurs inside words" : "");
}

}  // namespace

std::vector<TokenClass> find_token_classes(const std::vector<std::string>& texts,
                                           const Tokenizer& tokenizer, const char* option) {
  const std::map<std::string, std::int32_t> found = tokens_by_text(texts, tokenizer);
  std::vector<TokenClass> classes;
  for (const std::string& text : texts) {
    const std::int32_t id = found.at(text);
    if (id >= 0) {
      classes.push_back({text, id});
      continue;
    }
    throw InvalidArgument(OptionName(option), "each text must be one token, '{}' is {}; {}",
                          printable(text), pieces_of(text, tokenizer), advice_for(text, tokenizer));
  }
  return classes;
}

}  // namespace lime
