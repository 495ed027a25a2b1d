// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lime {

/// The normalisation forms of Unicode (UAX 15).
enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };

/// `text` in the given form.
///
/// @param text  valid UTF-8.
/// Linear but for runs of combining marks, which are sorted. Thread-safe.
/// The tables are those of libutf8proc. What Unicode added after version 9 stays as it is, as in
/// Hugging Face's `tokenizers`.
std::string to_unicode_form(std::string_view text, UnicodeForm form);

}  // namespace lime
