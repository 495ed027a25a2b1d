// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/normalizations.h"

#include <utf8proc.h>

#include <cstddef>
#include <cstdint>

#include "checkpoint/tokenizer/unicode.h"

namespace lime {
namespace {

/// Calls `map(code, result)` for each character, which appends what becomes of it.
template <typename Map> std::string map_characters(std::string_view text, const Map& map) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, end] = character_at(text, at);
    at = end;
    map(code, result);
  }
  return result;
}

bool is_chinese(std::int32_t code) {
  static constexpr CodeRange kRanges[] = {
      {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
      {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return is_in(kRanges, code);
}

/// Returns true for White_Space; what is a control character too, clean_text has removed.
bool is_bert_space(std::int32_t code) {
  const utf8proc_category_t category = utf8proc_category(code);
  return code == '\t' || code == '\n' || code == '\r' ||
         (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP);
}

std::string clean_text(std::string_view text) {
  return map_characters(text, [](std::int32_t code, std::string& result) {
    if (!is_bert_control(code)) append_character(is_bert_space(code) ? ' ' : code, result);
  });
}

std::string separate_chinese(std::string_view text) {
  return map_characters(text, [](std::int32_t code, std::string& result) {
    const bool is_separate = is_chinese(code);
    if (is_separate) result += ' ';
    append_character(code, result);
    if (is_separate) result += ' ';
  });
}

}  // namespace

std::string lowercase(std::string_view text) {
  return map_characters(text, [](std::int32_t code, std::string& result) {
    if (code == 0x130) {
      result += "i\u0307";
    } else {
      append_character(utf8proc_tolower(code), result);
    }
  });
}

std::string uppercase(std::string_view text) {
  return map_characters(text, [](std::int32_t code, std::string& result) {
    if (code == 0xDF) {
      result += "SS";
    } else {
      append_character(utf8proc_toupper(code), result);
    }
  });
}

std::string strip_accents(std::string_view text) {
  return map_characters(text, [](std::int32_t code, std::string& result) {
    if (!is_combining_mark(code)) append_character(code, result);
  });
}

std::string normalize_nmt(std::string_view text) {
  return map_characters(text, [](std::int32_t code, std::string& result) {
    static constexpr CodeRange kRemoved[] = {{0x01, 0x08}, {0x0B, 0x0B}, {0x0E, 0x1F},
                                             {0x7F, 0x7F}, {0x8F, 0x8F}, {0x9F, 0x9F}};
    static constexpr CodeRange kSpaces[] = {{0x09, 0x0A},     {0x0C, 0x0D},     {0x1680, 0x1680},
                                            {0x200B, 0x200F}, {0x2028, 0x2029}, {0x2581, 0x2581},
                                            {0xFEFF, 0xFEFF}, {0xFFFD, 0xFFFD}};
    if (!is_in(kRemoved, code)) append_character(is_in(kSpaces, code) ? ' ' : code, result);
  });
}

std::string normalize_bert(std::string_view text, const BertNormalization& steps) {
  std::string result(text);
  if (steps.clean_text) result = clean_text(result);
  if (steps.handle_chinese_chars) result = separate_chinese(result);
  if (steps.strip_accents) {
    result = map_characters(to_unicode_form(result, UnicodeForm::kNfd),
                            [](std::int32_t code, std::string& kept) {
                              if (!is_nonspacing_mark(code)) append_character(code, kept);
                            });
  }
  if (steps.lowercase) result = lowercase(result);
  return result;
}

}  // namespace lime
