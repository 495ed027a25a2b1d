// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/chat/jinja_lexer.h"

namespace lime::jinja {

/// Goes through the tokens of a template, and bounds what its parsers nest.
class TokenReader {
 public:
  /// @throws FormatError  as tokens_of()
  TokenReader(std::string_view source, std::string_view where);

  /// Throws FormatError about the present token.
  [[noreturn]] void fail(std::string_view problem) const;
  [[noreturn]] void fail_at_token() const;

  const Token& now() const { return tokens_[at_]; }
  const Token& next() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  Token take();

  bool sees(TokenKind kind) const { return now().kind == kind; }
  bool sees_name(std::string_view name) const { return now().is(TokenKind::kName, name); }
  bool sees_operator(std::string_view op) const { return now().is(TokenKind::kOperator, op); }
  /// Take the token if it is this one, and return whether it was.
  bool accepts_name(std::string_view name);
  bool accepts_operator(std::string_view op);
  void expect(TokenKind kind);
  void expect_operator(std::string_view op);
  std::string expect_name();

  /// Counts an operator, attribute or filter of a tag, since each nests the calls that evaluate it.
  void count_operator();

  /// Counts brackets and blocks within each other while it lives.
  class Nesting {
   public:
    explicit Nesting(TokenReader& reader);
    ~Nesting() { --reader_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    TokenReader& reader_;
  };

 private:
  std::string_view where_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int num_operators_ = 0;  // of this tag
};

}  // namespace lime::jinja
