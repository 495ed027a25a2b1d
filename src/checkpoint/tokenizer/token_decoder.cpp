// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/token_decoder.h"

#include "checkpoint/families/key_reader.h"
#include "checkpoint/tokenizer/byte_alphabet.h"
#include "checkpoint/tokenizer/work_budget.h"
#include "core/errors.h"

namespace lime {
namespace {

/// Returns the byte that a token such as `<0xE2>` represents.
std::optional<char> fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return std::nullopt;
  const std::string digits(token.substr(3, 2));
  if (digits.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) return std::nullopt;
  return static_cast<char>(std::stoi(digits, nullptr, 16));
}

/// Removes the space before punctuation and English suffixes, as WordPiece's `cleanup`.
std::string clean_up(std::string text, const StageWork& work) {
  constexpr std::pair<std::string_view, std::string_view> kChanges[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kChanges) text = replace_all(text, from, to, work);
  return text;
}

}  // namespace

TokenDecoder::TokenDecoder(const Json& definition, const std::string& where) {
  if (definition.is_null()) return;
  joins_with_space_ = false;
  add(definition, where);
}

void TokenDecoder::add(const Json& definition, const std::string& where) {
  const KeyReader fields(definition, where, KeyStyle::kDotted);
  const std::string type = fields.required_text("type");
  if (type == "Sequence") {
    for (const Json& part : fields.required_array("decoders")) add(part, where);
  } else if (type == "ByteLevel") {
    byte_level_ = true;
  } else if (type == "ByteFallback") {
    byte_fallback_ = true;
  } else if (type == "Fuse") {
    fused_ = true;
  } else if (type == "Metaspace") {
    const std::string replacement = fields.text("replacement").value_or("\u2581");
    if (replacement.empty()) throw FormatError("{}.replacement must not be empty", where);
    const bool prepended = fields.boolean("add_prefix_space", true);
    const std::string scheme =
        fields.text("prepend_scheme").value_or(prepended ? "always" : "never");
    if (scheme != "never") dropped_at_start_ = replacement;
    replacements_.emplace_back(replacement, " ");
  } else if (type == "WordPiece") {
    word_piece_ = true;
    cleans_up_ = fields.boolean("cleanup", true);
    continuation_ = fields.text("prefix").value_or("##");
  } else if (type == "BPEDecoder") {
    const std::string suffix = fields.text("suffix").value_or("</w>");
    if (suffix.empty()) throw FormatError("{}.suffix must not be empty", where);
    replacements_.emplace_back(suffix, " ");
  } else if (type == "Replace") {
    const KeyReader pattern = fields.required_object("pattern");
    throw_if<FormatError>(pattern.find("Regex") != nullptr,
                          "{}: type 'Replace' with a Regex is not supported", where);
    const std::string from = pattern.required_text("String");
    if (from.empty()) throw FormatError("{}.String must not be empty", pattern.where());
    replacements_.emplace_back(from, fields.text("content").value_or(""));
    replacement_name_ = fmt::format("{}: type '{}'", where, type);
    check_num_stages(replacements_.size(), where);
  } else if (type == "Strip") {
    add_strip(definition, where);
  } else {
    throw FormatError("{}: type '{}' is not supported", where, type);
  }
}

void TokenDecoder::add_strip(const Json& definition, const std::string& where) {
  const KeyReader fields(definition, where, KeyStyle::kDotted);
  const std::int64_t start = fields.integer("start").value_or(0);
  const std::int64_t stop = fields.integer("stop").value_or(0);
  if (start == 0 && stop == 0) return;
  throw_if<FormatError>(
      !fused_ || start != 1 || stop != 0 || !stripped_.empty(),
      "{}: type 'Strip' is supported only after Fuse and for one character at the start, got "
      "start {} and stop {}",
      where, start, stop);
  stripped_ = fields.required_text("content");
}

std::string TokenDecoder::piece(std::string_view token, bool at_text_start) const {
  if (joins_with_space_) return at_text_start ? std::string(token) : " " + std::string(token);
  std::string result(token);
  WorkBudget budget(token.size());
  const StageWork work(budget, replacement_name_);
  if (at_text_start && !dropped_at_start_.empty()) {
    result = replace_all(result, dropped_at_start_, "", work);
  }
  for (const auto& [from, to] : replacements_) result = replace_all(result, from, to, work);
  if (word_piece_) {
    const bool continues = result.starts_with(continuation_);
    if (!at_text_start) result = continues ? result.substr(continuation_.size()) : " " + result;
    if (cleans_up_) result = clean_up(std::move(result), work);
  }
  if (byte_fallback_) {
    if (const auto byte = fallback_byte(result)) result.assign(1, *byte);
  }
  if (byte_level_) {
    if (auto bytes = bytes_of_spelling(result)) result = *std::move(bytes);
  }
  if (at_text_start && !stripped_.empty() && result.starts_with(stripped_)) {
    result.erase(0, stripped_.size());
  }
  return result;
}

}  // namespace lime
