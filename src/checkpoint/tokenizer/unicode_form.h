// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lime {

/// The normalisation forms of Unicode (UAX 15).
enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

/// Converts `text` to the given form.
///
/// @param text  valid UTF-8.
/// Linear, except that runs of combining marks are sorted. Thread-safe.
/// The tables are those of libutf8proc. Characters added after Unicode 9 are unchanged, as in
/// Hugging Face's `tokenizers`.
std::string to_unicode_form(std::string_view text, UnicodeForm form);

}  // namespace lime
