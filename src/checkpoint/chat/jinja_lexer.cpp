// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chat/jinja_lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "checkpoint/tokenizer/python_text.h"
#include "checkpoint/tokenizer/unicode.h"
#include "core/errors.h"
#include "core/utf8.h"

namespace lime::jinja {
namespace {

constexpr std::string_view kWhitespace = " \t\r\n\f\v";

// The longest first.
constexpr std::array<std::string_view, 25> kOperators = {
    "==", "!=", "<=", ">=", "//", "**", "+", "-", "*", "/", "%", "~", "<",
    ">",  "=",  "(",  ")",  "[",  "]",  "{", "}", ",", ".", ":", "|"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  Lexer(std::string_view source, std::string_view where)
      : source_(replaced(std::string(source), "\r\n", "\n")), where_(where) {
    if (source_.ends_with('\n')) source_.pop_back();
  }

  std::vector<Token> tokens() {
    while (at_ < source_.size()) read_text_and_tag();
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::string_view problem) {
    throw FormatError("{} line {}: {}", where_, line(), problem);
  }

  int line() {
    const auto begin = source_.begin();
    line_ += static_cast<int>(std::count(begin + static_cast<std::ptrdiff_t>(counted_),
                                         begin + static_cast<std::ptrdiff_t>(at_), '\n'));
    counted_ = at_;
    return line_;
  }
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool sees(std::string_view text) const { return rest().starts_with(text); }
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line()}); }

  /// Returns the offset of the next `{{`, `{%` or `{#`, or the end.
  std::size_t next_tag() const {
    for (std::size_t at = source_.find('{', at_); at != std::string::npos;
         at = source_.find('{', at + 1)) {
      if (at + 1 < source_.size() &&
          std::string_view("{%#").find(source_[at + 1]) != std::string_view::npos)
        return at;
    }
    return source_.size();
  }

  void read_text_and_tag() {
    const std::size_t tag = next_tag();
    std::string_view text = std::string_view(source_).substr(at_, tag - at_);
    if (tag == source_.size()) {
      if (!text.empty()) add(TokenKind::kText, std::string(text));
      at_ = tag;
      return;
    }
    const char type = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : ' ';
    if (sign == '-') {
      text = text.substr(0, text.find_last_not_of(kWhitespace) + 1);
    } else if (sign != '+' && type != '{') {
      text = without_indent(text);
    }
    if (!text.empty()) add(TokenKind::kText, std::string(text));
    at_ = tag + 2 + (sign == '-' || sign == '+' ? 1 : 0);
    if (type == '#') {
      skip_comment();
    } else {
      read_tag(type == '%');
    }
  }

  /// Drops white space between the beginning of the line and a tag.
  std::string_view without_indent(std::string_view text) const {
    const std::size_t begin = text.rfind('\n') + 1;  // 0 if there is none
    if (begin == 0 && !is_line_start_) return text;
    return text.find_first_not_of(kWhitespace, begin) == text.npos ? text.substr(0, begin) : text;
  }

  void skip_comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) fail("the comment is not closed");
    const char sign = end > at_ ? source_[end - 1] : ' ';
    at_ = end + 2;
    finish_tag(sign, true);
  }

  /// Removes the white space after a tag. @param sign  before its end
  void finish_tag(char sign, bool trims_line_end) {
    const std::size_t begin = at_;
    if (sign == '-') {
      at_ = std::min(source_.find_first_not_of(kWhitespace, at_), source_.size());
    } else if (trims_line_end && sign != '+' && sees("\n")) {
      ++at_;
    }
    is_line_start_ = at_ > begin && source_[at_ - 1] == '\n';
  }

  void read_tag(bool is_block) {
    add(is_block ? TokenKind::kBlockBegin : TokenKind::kPrintBegin, "");
    const std::string_view end = is_block ? "%}" : "}}";
    int depth = 0;  // of brackets, so that }} may close two dicts
    while (true) {
      at_ = std::min(source_.find_first_not_of(kWhitespace, at_), source_.size());
      if (at_ == source_.size()) fail("the tag is not closed");
      const bool has_sign = (sees("-") || sees("+")) && rest().substr(1).starts_with(end);
      if (has_sign || (depth == 0 && sees(end)) || (is_block && sees(end))) {
        const char sign = has_sign ? source_[at_] : ' ';
        at_ += has_sign ? 3 : 2;
        add(is_block ? TokenKind::kBlockEnd : TokenKind::kPrintEnd, "");
        finish_tag(sign, is_block);
        return;
      }
      read_token(depth);
    }
  }

  void read_token(int& depth) {
    const char c = source_[at_];
    if (begins_name(c)) {
      add(TokenKind::kName, take_while([](char d) { return begins_name(d) || is_digit(d); }));
    } else if (is_digit(c)) {
      read_number();
    } else if (c == '\'' || c == '"') {
      read_string(c);
    } else {
      const auto found =
          std::ranges::find_if(kOperators, [&](std::string_view op) { return sees(op); });
      if (found == kOperators.end()) {
        fail(fmt::format("'{}' is not expected in a tag",
                         printable(rest().substr(0, character_end(source_, at_) - at_))));
      }
      const std::string_view op = *found;
      if (op == "(" || op == "[" || op == "{") ++depth;
      if (op == ")" || op == "]" || op == "}") --depth;
      add(TokenKind::kOperator, std::string(op));
      at_ += op.size();
    }
  }

  template <typename Keeps> std::string take_while(const Keeps& keeps) {
    const std::size_t begin = at_;
    std::size_t end = at_;
    while (end < source_.size() && keeps(source_[end])) ++end;
    at_ = end;
    return source_.substr(begin, end - begin);
  }

  void read_number() {
    std::string digits = take_while(is_digit);
    const auto digit_follows = [&](std::size_t offset) {
      return at_ + offset < source_.size() && is_digit(source_[at_ + offset]);
    };
    bool is_float = false;
    if (sees(".") && digit_follows(1)) {
      ++at_;
      digits += "." + take_while(is_digit);
      is_float = true;
    }
    const std::size_t sign = rest().substr(0, 2).find_first_of("+-", 1) == 1 ? 1 : 0;
    if ((sees("e") || sees("E")) && digit_follows(1 + sign)) {
      digits += source_.substr(at_, 1 + sign);
      at_ += 1 + sign;
      digits += take_while(is_digit);
      is_float = true;
    }
    add(is_float ? TokenKind::kFloat : TokenKind::kInteger, digits);
  }

  void read_string(char quote) {
    std::string content;
    for (++at_; at_ < source_.size() && source_[at_] != quote; ++at_) {
      if (source_[at_] == '\\') {
        read_escape(content);
      } else {
        content += source_[at_];
      }
    }
    if (at_ >= source_.size()) fail("the string is not closed");
    ++at_;
    add(TokenKind::kString, std::move(content));
  }

  /// Appends what the escape at `at_` stands for, as in Python; stays at its last character.
  void read_escape(std::string& content) {
    static constexpr std::string_view kNames = "ntrabfv0\\'\"";
    static constexpr std::string_view kBytes("\n\t\r\a\b\f\v\0\\'\"", 11);
    if (++at_ >= source_.size()) return;
    const char c = source_[at_];
    if (const std::size_t place = kNames.find(c); place != kNames.npos) {
      content += kBytes[place];
    } else if (c == 'x' || c == 'u' || c == 'U') {
      read_code_point(c == 'x' ? 2 : c == 'u' ? 4 : 8, content);
    } else if (c != '\n') {  // a line that continues
      content += '\\';
      content += c;
    }
  }

  void read_code_point(std::size_t num_digits, std::string& content) {
    std::int32_t code = 0;
    const std::string digits = source_.substr(at_ + 1, num_digits);
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    const bool is_valid = digits.size() == num_digits &&
                          result.ptr == digits.data() + digits.size() && code >= 0 &&
                          code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    if (!is_valid) fail("an escape in a string must be a character");
    append_character(code, content);
    at_ += num_digits;
  }

  std::string source_;
  std::string_view where_;
  std::size_t at_ = 0;
  std::size_t counted_ = 0;  // offset of `line_`
  int line_ = 1;
  bool is_line_start_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source, std::string_view where) {
  return Lexer(source, where).tokens();
}

}  // namespace lime::jinja
