// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lime {

/// GPT-2's byte alphabet, in which byte-level vocabularies are spelt: printable Latin-1 bytes stand
/// for themselves, the other 68 bytes for U+0100 and up (a space is "Ġ").
/// Source: openai/gpt-2, src/encoder.py, bytes_to_unicode().

/// The character for `byte`, in UTF-8.
const std::string& spell_byte(unsigned char byte);

/// The bytes that `spelling` stands for, or nothing where a character is not of the alphabet.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

}  // namespace lime
