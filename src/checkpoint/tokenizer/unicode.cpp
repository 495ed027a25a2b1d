// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/unicode.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <vector>

namespace lime {
namespace {

// Hugging Face's `tokenizers` 0.23.3 knows the characters of Unicode 9 (for categories: 8) and
// libutf8proc 2.8 those of Unicode 15. Determined by running it on every code point; the ranges
// also cover code points for which both agree.
// clang-format off
constexpr CodeRange kLaterMarks[] = {
    {0x7FD, 0x7FD}, {0x898, 0x8D3}, {0x9FE, 0x9FE}, {0xAFA, 0xAFF}, {0xB55, 0xB55}, {0xC04, 0xC3C},
    {0xCF3, 0xD00}, {0xD3B, 0xD3C}, {0xD81, 0xD81}, {0xEBA, 0xEBA}, {0xECE, 0xECE},
    {0x1715, 0x1715}, {0x180F, 0x180F}, {0x1ABF, 0x1ACE}, {0x1CF7, 0x1CF7}, {0x1DF6, 0x1DFA},
    {0xA82C, 0xA82C}, {0xA8FF, 0xA8FF}, {0x10D24, 0x10F85}, {0x11070, 0x11074}, {0x110C2, 0x110C2},
    {0x11145, 0x11146}, {0x111C9, 0x111C9}, {0x111CE, 0x111CF}, {0x11241, 0x11241},
    {0x1133B, 0x1133B}, {0x1145E, 0x1145E}, {0x1182C, 0x11A99}, {0x11D31, 0x13455},
    {0x16F4F, 0x16F4F}, {0x16F7F, 0x16F87}, {0x16FE4, 0x16FF1}, {0x1CF00, 0x1CF46},
    {0x1E08F, 0x1E4EF}};
constexpr CodeRange kMarksOfUnicode9[] = {
    {0x8D4, 0x8E1}, {0x1885, 0x1886}, {0x1DFB, 0x1DFB}, {0xA8C5, 0xA8C5}, {0xA9BD, 0xA9BD},
    {0x1123E, 0x1123E}, {0x11438, 0x11446}, {0x11C30, 0x11CB6}, {0x1E000, 0x1E02A},
    {0x1E944, 0x1E94A}};
/// Characters but marks that Unicode 15 decomposes.
constexpr CodeRange kLaterLetters[] = {
    {0x32FF, 0x32FF}, {0xA7F2, 0xA7F4}, {0xAB69, 0xAB69}, {0x10781, 0x107BA}, {0x1E030, 0x1E06D},
    {0x1F16C, 0x1F16C}, {0x1FBF0, 0x1FBF9}};
constexpr CodeRange kOtherControls[] = {
    {0x890, 0x891}, {0x8E2, 0x8E2}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}};
// clang-format on

/// Scripts of Unicode 9, but for those that have a place of their own in script_pattern().
constexpr std::string_view kScripts =
    "Adlm Aghb Ahom Arab Armi Armn Avst Bali Bamu Bass Batk Beng Bhks Bopo Brah Brai Bugi Buhd "
    "Cakm Cans Cari Cham Cher Copt Cprt Cyrl Dsrt Dupl Egyp Elba Ethi Geor Glag Goth Gran Grek "
    "Gujr Guru Hang Hano Hatr Hebr Hluw Hmng Hung Ital Java Kali Khar Khmr Khoj Knda Kthi Lana "
    "Laoo Lepc Limb Lina Linb Lisu Lyci Lydi Mahj Mand Mani Marc Mend Merc Mero Miao Mlym Modi "
    "Mong Mroo Mtei Mult Mymr Narb Nbat Newa Nkoo Ogam Olck Orkh Orya Osge Osma Palm Pauc Perm "
    "Phag Phli Phlp Phnx Prti Rjng Runr Samr Sarb Saur Sgnw Shaw Shrd Sidd Sind Sinh Sora Sund "
    "Sylo Syrc Tagb Takr Tale Talu Taml Tang Tavt Telu Tfng Tglg Thaa Thai Tibt Tirh Ugar Vaii "
    "Wara Xpeo Xsux Yiii Zinh ";

/// Characters of these scripts that came after Unicode 9, and others that belong to none.
constexpr std::string_view kLaterCharacters =
    R"(\x{20}\x{560}\x{588}\x{5EF}\x{61D}\x{7FD}-\x{7FF}\x{860}-\x{89F}\x{8B5}\x{8BE}-\x{8D3})"
    R"(\x{9FC}-\x{9FE}\x{A76}\x{AFA}-\x{AFF}\x{B55}\x{C04}\x{C3C}\x{C5D}\x{C77}\x{C84}\x{CDD})"
    R"(\x{D00}\x{D04}\x{D3B}-\x{D3C}\x{D81}\x{E86}\x{E89}\x{E8C}\x{E8E}-\x{E93}\x{E98}\x{EA0})"
    R"(\x{EA8}-\x{EA9}\x{EAC}\x{EBA}\x{170D}\x{1715}-\x{171F}\x{180F}\x{1878}\x{1ABF}-\x{1ACE})"
    R"(\x{1B4C}\x{1B7D}-\x{1B7E}\x{1C90}-\x{1CBF}\x{1CF7}\x{1CFA}\x{1DF6}-\x{1DFA})"
    R"(\x{20BF}-\x{20C0}\x{23FF}\x{2B97}\x{2BBA}-\x{2BBC}\x{2BC9}\x{2BD2}-\x{2BEB})"
    R"(\x{2BF0}-\x{2BFF}\x{2C2F}\x{2C5F}\x{2E45}-\x{2E5D}\x{312E}-\x{312F}\x{31BB}-\x{31BF})"
    R"(\x{32FF}\x{4DB6}-\x{4DBF}\x{9FD6}-\x{9FFF}\x{A7AF}\x{A7B8}-\x{A7F6}\x{A82C})"
    R"(\x{A8FE}-\x{A8FF}\x{AB66}-\x{AB6B}\x{FBC2}\x{FD40}-\x{FD4F}\x{FDCF}\x{FDFE}-\x{FDFF})"
    R"(\x{1019C}\x{1032D}-\x{1032F}\x{10780}-\x{107BA}\x{10A34}-\x{10A35}\x{10A48})"
    R"(\x{11070}-\x{11075}\x{110C2}-\x{110CD}\x{11144}-\x{11147}\x{111CE}-\x{111CF}\x{1133B})"
    R"(\x{1145A}\x{1145E}-\x{11461}\x{116B8}-\x{116B9}\x{1171A}\x{11740}-\x{11746})"
    R"(\x{11AB0}-\x{11ABF}\x{11FB0}-\x{11FFF}\x{13430}-\x{13438}\x{16F45}-\x{16F4F})"
    R"(\x{16F7F}-\x{16F87}\x{16FE2}-\x{16FF1}\x{187ED}-\x{187F7}\x{18AF3}-\x{1AFFE})"
    R"(\x{1B002}-\x{1B167}\x{1CF00}-\x{1CFC3}\x{1D1E9}-\x{1D1EA}\x{1D2E0}-\x{1D2F3})"
    R"(\x{1D372}-\x{1D378}\x{1DF00}-\x{1DF1E}\x{1E7E0}-\x{1E7FE}\x{1E94B}\x{1EC71}-\x{1ED3D})"
    R"(\x{1F10D}-\x{1F10F}\x{1F12F}\x{1F16C}-\x{1F16F}\x{1F1AD}\x{1F260}-\x{1F265})"
    R"(\x{1F6D3}-\x{1F6DF}\x{1F6F7}-\x{1F6FC}\x{1F7D5}-\x{1F7F0}\x{1F8B0}-\x{1F90F}\x{1F91F})"
    R"(\x{1F928}-\x{1F92F}\x{1F931}-\x{1F932}\x{1F93F}\x{1F94C}-\x{1F94F}\x{1F95F}-\x{1F97F})"
    R"(\x{1F992}-\x{1F9BF}\x{1F9C1}-\x{1FBF9}\x{2A6D7}-\x{2A6DF}\x{2B735}-\x{2B738})"
    R"(\x{2CEB0}-\x{2EBE0}\x{30000}-\x{3134A})";

bool is_compatibility(UnicodeForm form) {
  return form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
}

bool is_composed(UnicodeForm form) {
  return form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
}

/// Below this code point every character is in the form and combines with none before it.
std::int32_t first_changing(UnicodeForm form) { return form == UnicodeForm::kNfc ? 0x300 : 0x80; }

/// Returns true if `tokenizers` does not change a code point that Unicode 15 decomposes or
/// reorders.
bool is_inert(std::int32_t code) { return is_in(kLaterMarks, code) || is_in(kLaterLetters, code); }

int combining_class(std::int32_t code) { return utf8proc_get_property(code)->combining_class; }

void decompose(std::string_view text, UnicodeForm form, std::vector<std::int32_t>& codes) {
  const int options = UTF8PROC_DECOMPOSE | (is_compatibility(form) ? UTF8PROC_COMPAT : 0);
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    at = character.end;
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
  for (utf8proc_ssize_t i = 0; i < count; ++i) append_character(codes[i], result);
}

}  // namespace

std::size_t character_end(std::string_view text, std::size_t at) {
  ++at;
  while (at < text.size() && is_continuation(text[at])) ++at;
  return at;
}

Character character_at(std::string_view text, std::size_t at) {
  Character result;
  const auto length =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                       static_cast<utf8proc_ssize_t>(text.size() - at), &result.code);
  assert(length > 0);
  result.end = at + static_cast<std::size_t>(length);
  return result;
}

void append_character(std::int32_t code, std::string& text) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto length = utf8proc_encode_char(code, bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(length));
}

bool is_in(std::span<const CodeRange> ranges, std::int32_t code) {
  const auto range = std::ranges::lower_bound(ranges, code, {}, &CodeRange::last);
  return range != ranges.end() && range->first <= code;
}

bool is_combining_mark(std::int32_t code) {
  const utf8proc_category_t category = utf8proc_category(code);
  const bool is_mark = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
  const bool is_former = code == 0x1CF2 || code == 0x1CF3;
  return is_former || (is_mark && !is_in(kLaterMarks, code));
}

bool is_nonspacing_mark(std::int32_t code) {
  const bool is_former = code == 0x1734;
  return is_former || (utf8proc_category(code) == UTF8PROC_CATEGORY_MN &&
                       !is_in(kLaterMarks, code) && !is_in(kMarksOfUnicode9, code));
}

std::string script_pattern() {
  std::string pattern = fmt::format("[{}]", kLaterCharacters);
  pattern += R"(|([A-Za-z]+|\p{Latn})|([\p{Hani}\p{Hira}\p{Kana}\x{30FC}]))"
             R"(|([\p{Zyyy}\x{589}\x{61C}])|([\p{Deva}\x{953}\x{954}]))";
  for (std::size_t at = 0; at < kScripts.size(); at += 5) {
    pattern += fmt::format("|(\\p{{{}}})", kScripts.substr(at, 4));
  }
  return pattern + R"(|[\s\S])";
}

bool is_bert_control(std::int32_t code) {
  if (code == '\t' || code == '\n' || code == '\r') return false;
  const utf8proc_category_t category = utf8proc_category(code);
  const bool is_control = code == 0xFFFD || category == UTF8PROC_CATEGORY_CC ||
                          category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
  return is_control != is_in(kOtherControls, code);
}

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
      at = character.end;
      continue;
    }
    if (is_inert(character.code)) {
      previous = at = character.end;
      continue;
    }
    // An island: the character before, which may combine, and all up to the next one that stays.
    result += text.substr(copied, previous - copied);
    std::size_t end = at;
    while (end < text.size()) {
      const Character next = character_at(text, end);
      if (next.code < threshold || is_inert(next.code)) break;
      end = next.end;
    }
    normalize_island(text.substr(previous, end - previous), form, codes, result);
    copied = previous = at = end;
  }
  return result += text.substr(copied);
}

}  // namespace lime
