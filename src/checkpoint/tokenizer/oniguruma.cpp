// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/oniguruma.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "core/errors.h"
#include "core/utf8.h"

namespace lime {
namespace {

/// Contents of the shorthands, as written inside brackets. `\w` is Alphabetic, marks, decimal
/// digits and connectors, and the Latin-1 numbers that Oniguruma keeps from its oldest tables.
constexpr std::string_view kSpace = R"(\p{White_Space})";
constexpr std::string_view kNotSpace = R"(\P{White_Space})";
constexpr std::string_view kWord =
    R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";
constexpr std::string_view kHexDigit = "0-9a-fA-F";

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kLongCategories = {{
    {"Letter", "L"},
    {"Mark", "M"},
    {"Number", "N"},
    {"Punctuation", "P"},
    {"Symbol", "S"},
    {"Separator", "Z"},
    {"Other", "C"},
    {"Decimal_Number", "Nd"},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kPosixClasses = {{
    {"[:space:]", kSpace},
    {"[:alpha:]", R"(\p{Alphabetic})"},
    {"[:digit:]", R"(\p{Nd})"},
    {"[:punct:]", R"(\p{P}\p{S})"},
    {"[:word:]", kWord},
}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        escape();
      } else if (in_class_) {
        class_character(c);
      } else if (c == '[') {
        open_class();
      } else if (c == '(' && pattern_.substr(at_, 2) == "(?") {
        check_group();
        copy(2);
      } else if (c == '{') {
        interval();
      } else {
        copy(1);
      }
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw FormatError("pattern '{}': {} at byte {} is not supported", printable(pattern_, 200),
                      what, at_);
  }

  void copy(std::size_t count) {
    result_ += pattern_.substr(at_, count);
    at_ += count;
  }

  void put(std::string_view text, std::size_t consumed) {
    result_ += text;
    at_ += consumed;
  }

  void put_set(std::string_view set, std::size_t consumed) {
    if (in_class_) return put(set, consumed);
    put("[" + std::string(set) + "]", consumed);
  }

  void put_negated_set(std::string_view set, std::size_t consumed) {
    if (in_class_) refuse("a negated shorthand inside brackets");
    put("[^" + std::string(set) + "]", consumed);
  }

  void escape() {
    if (at_ + 1 >= pattern_.size()) refuse("a lone backslash");
    const char c = pattern_[at_ + 1];
    switch (c) {
      case 's': return put(kSpace, 2);
      case 'S': return put(kNotSpace, 2);
      case 'w': return put_set(kWord, 2);
      case 'W': return put_negated_set(kWord, 2);
      case 'h': return put_set(kHexDigit, 2);
      case 'H': return put_negated_set(kHexDigit, 2);
      case 'v': return put(R"(\x0b)", 2);
      case 'b': return put(in_class_ ? std::string(R"(\x08)") : word_boundary(true), 2);
      case 'B':
        if (in_class_) refuse("\\B inside brackets");
        return put(word_boundary(false), 2);
      case 'x': return code_point();
      case 'u': return unicode_escape();
      case 'p':
      case 'P': return property();
      default: break;
    }
    constexpr std::string_view kSame = "dDrntfae0";
    constexpr std::string_view kSameOutside = "AzZRX";
    const bool shared = kSame.find(c) != std::string_view::npos ||
                        (!in_class_ && kSameOutside.find(c) != std::string_view::npos);
    if ((is_letter(c) || is_digit(c)) && !shared) refuse(std::string("\\") + c);
    copy(2);
  }

  void unicode_escape() {
    const std::string_view digits = pattern_.substr(at_ + 2, 4);
    if (digits.size() < 4) refuse("a short \\u");
    put("\\x{" + std::string(digits) + "}", 6);
  }

  /// `\x41` and `\x{1F600}`, which hold a brace that is no interval.
  void code_point() {
    if (pattern_.substr(at_ + 2, 1) != "{") return copy(2);
    const std::size_t end = std::min(pattern_.find('}', at_), pattern_.size());
    const std::string_view digits = pattern_.substr(at_ + 3, end - at_ - 3);
    const bool is_hex =
        digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
    if (end == pattern_.size() || digits.empty() || !is_hex) refuse("\\x{ without a number");
    copy(end + 1 - at_);
  }

  /// PCRE2's own `\b` has another `\w`.
  static std::string word_boundary(bool changes) {
    const std::string word = "[" + std::string(kWord) + "]";
    const std::string_view after_word = changes ? "(?!" : "(?=";
    const std::string_view after_other = changes ? "(?=" : "(?!";
    return fmt::format("(?:(?<={0}){1}{0})|(?<!{0}){2}{0}))", word, after_word, after_other);
  }

  /// `\p{Name}`: categories are the same; any other name is a script without its extensions.
  void property() {
    if (at_ + 2 >= pattern_.size() || pattern_[at_ + 2] != '{') return copy(2);
    const std::size_t end = pattern_.find('}', at_);
    if (end == std::string_view::npos) refuse("an open property");
    std::string_view name = pattern_.substr(at_ + 3, end - at_ - 3);
    const bool negated = !name.empty() && name.front() == '^';
    if (negated) name.remove_prefix(1);
    for (const auto& [full, brief] : kLongCategories) {
      if (name == full) name = brief;
    }
    std::string written = "\\" + std::string(1, pattern_[at_ + 1]) + "{" + (negated ? "^" : "");
    if (name.size() > 2 && name != "White_Space" && name != "Alphabetic") written += "sc:";
    put(written + std::string(name) + "}", end + 1 - at_);
  }

  void open_class() {
    in_class_ = true;
    copy(1);
    if (pattern_.substr(at_, 1) == "^") copy(1);
    if (pattern_.substr(at_, 1) == "]") put("\\]", 1);
  }

  void class_character(char c) {
    if (c == ']') in_class_ = false;
    if (c == '[') return posix_class();
    if (pattern_.substr(at_, 2) == "&&") refuse("an intersection of classes");
    copy(1);
  }

  void posix_class() {
    for (const auto& [name, set] : kPosixClasses) {
      if (pattern_.substr(at_, name.size()) == name) return put(set, name.size());
    }
    refuse("a class inside brackets");
  }

  void check_group() const {
    constexpr std::string_view kKnown = ":=!>i<-#";
    if (at_ + 2 >= pattern_.size() || kKnown.find(pattern_[at_ + 2]) == std::string_view::npos) {
      refuse("a group of this kind");
    }
    const std::string_view group = pattern_.substr(at_ + 2);
    const std::string_view flags = group.substr(0, group.find_first_of(":)"));
    if (group.front() == 'i' || group.front() == '-') {
      if (flags.find_first_not_of("i-") != std::string_view::npos) refuse("a flag other than i");
    }
  }

  /// `{n,m}` is the same, but a `+` after it repeats here and is possessive there.
  void interval() {
    const std::size_t end = pattern_.find('}', at_);
    const bool counts = end != std::string_view::npos &&
                        pattern_.substr(at_ + 1, end - at_ - 1).find_first_not_of("0123456789,") ==
                            std::string_view::npos;
    if (!counts) return put("\\{", 1);
    if (pattern_.substr(end + 1, 1) == "+") refuse("{n,m}+");
    // {,n} means {0,n} in Ruby and is literal text in PCRE2 10.42.
    if (pattern_[at_ + 1] == ',') return put("{0", 1);
    copy(end + 1 - at_);
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  std::string result_;
};

}  // namespace

std::string pcre2_from_oniguruma(std::string_view pattern) { return Translator(pattern).run(); }

std::string quote_pattern(std::string_view text) {
  std::string result;
  for (const char c : text) {
    constexpr std::string_view kSpecial = R"(\^$.[]|()?*+{}-#)";
    if (kSpecial.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace lime
