// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lime {

/// Rewrites a pattern of tokenizer.json from Oniguruma (Ruby syntax) to an equal one of PCRE2.
///
/// The two differ in the meaning of shorthands: `\s` is White_Space (PCRE2 adds U+180E), `\w`
/// includes marks and all connectors, `\h` is a hexadecimal digit, `\v` a vertical tab, `\b` is
/// where `\w` begins or ends, and a script name such as `\p{Han}` does not mean its extensions.
///
/// @throws FormatError  for class intersections, nested classes, `{n,m}+`, back-references, `(?m)`.
/// Source: Oniguruma 6.9, doc/RE; checked on every code point against `tokenizers` 0.23.
std::string pcre2_from_oniguruma(std::string_view pattern);

/// Returns a pattern that matches `text` literally.
std::string quote_pattern(std::string_view text);

}  // namespace lime
