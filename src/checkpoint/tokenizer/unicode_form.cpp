// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/unicode_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <vector>

#include "checkpoint/tokenizer/unicode_sets.h"

namespace lime {
namespace {

bool is_compatibility(UnicodeForm form) {
  return form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
}

bool is_composed(UnicodeForm form) {
  return form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
}

/// Below this code point every character is in the form already, has combining class 0 and does
/// not combine with the character before it.
std::int32_t first_changing(UnicodeForm form) { return form == UnicodeForm::kNfc ? 0x300 : 0x80; }

/// Code points that Hugging Face's `tokenizers` 0.23.3 does not change although Unicode 15 does:
/// its tables are of Unicode 9, in which later characters have neither decompositions nor combining
/// classes. Determined by running its normalizers on every code point.
constexpr CodeRange kInert[] = {
    // clang-format off
    {0x7FD, 0x7FD}, {0x898, 0x89F}, {0x8CA, 0x8D3}, {0x9FE, 0x9FE}, {0xC3C, 0xC3C},
    {0xD3B, 0xD3C}, {0xEBA, 0xEBA}, {0x1715, 0x1715}, {0x1ABF, 0x1ACE}, {0x1DF6, 0x1DFA},
    {0x32FF, 0x32FF}, {0xA7F2, 0xA7F4}, {0xA82C, 0xA82C}, {0xAB69, 0xAB69}, {0x10781, 0x10785},
    {0x10787, 0x107B0}, {0x107B2, 0x107BA}, {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC},
    {0x10EFD, 0x10EFF}, {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070},
    {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x11839, 0x1183A}, {0x11930, 0x11930},
    {0x11935, 0x11935}, {0x11938, 0x11938}, {0x1193D, 0x1193E}, {0x11943, 0x11943},
    {0x119E0, 0x119E0}, {0x11A34, 0x11A34}, {0x11A47, 0x11A47}, {0x11A99, 0x11A99},
    {0x11D42, 0x11D42}, {0x11D44, 0x11D45}, {0x11D97, 0x11D97}, {0x11F41, 0x11F42},
    {0x16FF0, 0x16FF1}, {0x1E030, 0x1E06D}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136},
    {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}, {0x1F16C, 0x1F16C},
    {0x1FBF0, 0x1FBF9},
    // clang-format on
};

bool is_inert(std::int32_t code) { return is_in(kInert, code); }

const utf8proc_uint8_t* bytes_at(std::string_view text, std::size_t offset) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data() + offset);
}

struct Character {
  std::int32_t code = 0;
  std::size_t length = 0;
};

Character character_at(std::string_view text, std::size_t offset) {
  Character result;
  const auto remaining = static_cast<utf8proc_ssize_t>(text.size() - offset);
  const auto length = utf8proc_iterate(bytes_at(text, offset), remaining, &result.code);
  assert(length > 0);
  result.length = static_cast<std::size_t>(length);
  return result;
}

int combining_class(std::int32_t code) { return utf8proc_get_property(code)->combining_class; }

void decompose(std::string_view text, UnicodeForm form, std::vector<std::int32_t>& codes) {
  const int options = UTF8PROC_DECOMPOSE | (is_compatibility(form) ? UTF8PROC_COMPAT : 0);
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    at += character.length;
    std::array<std::int32_t, 32> parts{};  // the longest decomposition of Unicode has 18
    int last_boundary = 0;
    const auto count =
        utf8proc_decompose_char(character.code, parts.data(), parts.size(),
                                static_cast<utf8proc_option_t>(options), &last_boundary);
    assert(count >= 0 && static_cast<std::size_t>(count) <= parts.size());
    codes.insert(codes.end(), parts.begin(), parts.begin() + count);
  }
}

/// Canonical ordering. utf8proc sorts by insertion, which takes quadratic time on long runs.
void order_marks(std::vector<std::int32_t>& codes) {
  const auto is_starter = [](std::int32_t code) { return combining_class(code) == 0; };
  auto at = codes.begin();
  while (at != codes.end()) {
    const auto begin = std::find_if_not(at, codes.end(), is_starter);
    const auto end = std::find_if(begin, codes.end(), is_starter);
    std::stable_sort(begin, end, [](std::int32_t a, std::int32_t b) {
      return combining_class(a) < combining_class(b);
    });
    at = end;
  }
}

void normalize_island(std::string_view text, UnicodeForm form, std::vector<std::int32_t>& codes,
                      std::string& result) {
  codes.clear();
  decompose(text, form, codes);
  order_marks(codes);
  auto count = static_cast<utf8proc_ssize_t>(codes.size());
  if (is_composed(form)) {
    const int options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    count = utf8proc_normalize_utf32(codes.data(), count, static_cast<utf8proc_option_t>(options));
  }
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    append_character(codes[static_cast<std::size_t>(i)], result);
}

}  // namespace

std::string to_unicode_form(std::string_view text, UnicodeForm form) {
  const std::int32_t threshold = first_changing(form);
  std::string result;
  result.reserve(text.size());
  std::vector<std::int32_t> codes;
  std::size_t copied = 0;    // everything before it is in result
  std::size_t previous = 0;  // start of the last character below the threshold
  std::size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      previous = at++;
      continue;
    }
    const Character character = character_at(text, at);
    if (character.code < threshold) {
      previous = at;
      at += character.length;
      continue;
    }
    if (is_inert(character.code)) {
      at += character.length;
      previous = at;
      continue;
    }
    // An island: the character before, which may combine, and all up to the next one that stays.
    result += text.substr(copied, previous - copied);
    std::size_t end = at;
    while (end < text.size()) {
      const Character next = character_at(text, end);
      if (next.code < threshold || is_inert(next.code)) break;
      end += next.length;
    }
    normalize_island(text.substr(previous, end - previous), form, codes, result);
    copied = previous = at = end;
  }
  return result += text.substr(copied);
}

}  // namespace lime
