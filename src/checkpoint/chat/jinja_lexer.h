// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lime::jinja {

enum class TokenKind : std::uint8_t {
  kText,        ///< outside of tags
  kBlockBegin,  ///< {%
  kBlockEnd,
  kPrintBegin,  ///< {{
  kPrintEnd,
  kName,
  kString,  ///< `text` is its content
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  int line = 0;  ///< from 1

  bool is(TokenKind other, std::string_view content) const {
    return kind == other && text == content;
  }
};

/// Cuts a template into tokens, the last of which is kEnd. White space around tags is removed as
/// Jinja does with `trim_blocks` and `lstrip_blocks`, which transformers sets; comments are left
/// out.
/// @param where  names the template in errors
/// @throws FormatError  if a tag, string or comment is not closed, or a character is unknown
std::vector<Token> tokens_of(std::string_view source, std::string_view where);

}  // namespace lime::jinja
