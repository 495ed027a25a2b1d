// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/chat/jinja_token_reader.h"

#include "core/errors.h"
#include "core/utf8.h"

namespace lime::jinja {
namespace {

constexpr int kMaxDepth = 100;
constexpr int kMaxOperators = 200;

}  // namespace

TokenReader::TokenReader(std::string_view source, std::string_view where)
    : where_(where), tokens_(tokens_of(source, where)) {}

void TokenReader::fail(std::string_view problem) const {
  throw FormatError("{} line {}: {}", where_, now().line, problem);
}

void TokenReader::fail_at_token() const {
  const bool is_end = now().text.empty();
  fail(is_end ? std::string("the tag ends too early")
              : fmt::format("'{}' is not expected here", printable(now().text)));
}

Token TokenReader::take() {
  const Token token = now();
  if (at_ + 1 < tokens_.size()) ++at_;
  const bool begins_tag =
      token.kind == TokenKind::kBlockBegin || token.kind == TokenKind::kPrintBegin;
  if (begins_tag) num_operators_ = 0;
  return token;
}

bool TokenReader::accepts_name(std::string_view name) {
  if (!sees_name(name)) return false;
  take();
  return true;
}

bool TokenReader::accepts_operator(std::string_view op) {
  if (!sees_operator(op)) return false;
  take();
  return true;
}

void TokenReader::expect(TokenKind kind) {
  if (!sees(kind)) fail_at_token();
  take();
}

void TokenReader::expect_operator(std::string_view op) {
  if (!accepts_operator(op)) fail(fmt::format("'{}' is expected", op));
}

std::string TokenReader::expect_name() {
  if (!sees(TokenKind::kName)) fail("a name is expected");
  return take().text;
}

void TokenReader::count_operator() {
  if (++num_operators_ > kMaxOperators) fail("the expression is too long");
}

TokenReader::Nesting::Nesting(TokenReader& reader) : reader_(reader) {
  if (++reader_.depth_ > kMaxDepth) reader_.fail("brackets or blocks are nested too deeply");
}

}  // namespace lime::jinja
