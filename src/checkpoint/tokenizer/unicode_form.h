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
/// Unassigned code points stay as they are; the tables are those of libutf8proc.
std::string to_unicode_form(std::string_view text, UnicodeForm form);

}  // namespace lime
