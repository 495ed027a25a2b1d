// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lime {

// GPT-2's byte alphabet, in which byte-level vocabularies are written: printable Latin-1 bytes are
// themselves, the other 68 bytes for U+0100 and up (a space is "Ġ").
// Source: openai/gpt-2, src/encoder.py, bytes_to_unicode().

/// Returns the character for `byte`, in UTF-8.
const std::string& spell_byte(unsigned char byte);

/// Returns the bytes of `spelling`, or nothing if a character is not in the alphabet.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

}  // namespace lime
