// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace lime {

/// Returns the offset of the first byte that is not part of well-formed UTF-8 (RFC 3629: no
/// surrogates,
/// no overlong forms, nothing above U+10FFFF), or nothing where the whole text is well formed.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

/// Checks that `text` is UTF-8. @param file whose content `text` is
/// @throws FormatError  that names the file and the byte.
void require_utf8(const std::filesystem::path& file, std::string_view text);

/// Cuts `text` to at most `max_bytes` without splitting a character, and escapes line breaks, other
/// control characters (C0, DEL, C1), the characters that separate lines or change the direction of
/// the text around them (U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069), and U+FFFE
/// and U+FFFF, which XML forbids, for showing it inside one line.
std::string printable(std::string_view text, std::size_t max_bytes = 60);

/// Returns a CSV cell as in RFC 4180: quoted if it contains a comma, a quote or a line end.
std::string csv_cell(std::string_view text);

/// Returns `text` in single quotes: one word in any of the shells.
std::string single_quoted(std::string_view text);

/// Returns `text` as one word of a POSIX shell: unchanged if no character is special, else quoted.
std::string shell_word(std::string_view text);

}  // namespace lime
