// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lime {

/// The normalisation forms of Unicode (UAX 15).
enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

/// Converts `text` to the given form.
///
/// @param text  valid UTF-8. Linear, except that runs of combining marks are sorted. Thread-safe.
/// As in `tokenizers`, characters added after Unicode 9 are unchanged.
std::string to_unicode_form(std::string_view text, UnicodeForm form);

// Texts are valid UTF-8.

/// Returns true for the bytes of a character after its first.
inline bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Returns the offset after the character that begins at `at`.
std::size_t character_end(std::string_view text, std::size_t at);

struct Character {
  std::int32_t code = 0;
  std::size_t end = 0;  ///< offset after it
};
/// Returns the character that begins at `at`.
Character character_at(std::string_view text, std::size_t at);

/// Appends a character to a text. @param code  a valid code point.
void append_character(std::int32_t code, std::string& text);

struct CodeRange {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// Returns true if `code` is in one of `ranges`, which are sorted.
bool is_in(std::span<const CodeRange> ranges, std::int32_t code);

// Sets of characters as Hugging Face's `tokenizers` 0.23.3 has them, asked of its components code
// point by code point. Its tables are older than libutf8proc's: StripAccents has Unicode 9,
// BertNormalizer Unicode 8. Thread-safe.

/// Returns true for the marks that StripAccents removes.
bool is_combining_mark(std::int32_t code);

/// Returns true for the marks that BertNormalizer removes with strip_accents.
bool is_nonspacing_mark(std::int32_t code);

/// Returns a pattern that matches one character, or several ASCII letters. Its group is the script
/// as in UnicodeScripts: kana are Han; spaces and characters after Unicode 9 have no group.
std::string script_pattern();

/// Returns true for what clean_text removes: control, format and private characters, U+FFFD.
bool is_bert_control(std::int32_t code);

}  // namespace lime
