// SPDX-License-Identifier: Apache-2.0
#include "core/utf8.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "core/errors.h"

namespace lime {
namespace {

/// Length of the well-formed character at the start of `text`, 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

/// The code point of a well-formed character of two or three bytes.
unsigned code_point(std::string_view character) {
  unsigned code = static_cast<unsigned char>(character[0]) & (character.size() == 2 ? 0x1FU : 0xFU);
  for (const char byte : character.substr(1)) {
    code = code << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
  }
  return code;
}

/// Whether a character beyond ASCII controls how the text around it is shown, or is none.
bool is_control(std::string_view character) {
  if (character.size() != 2 && character.size() != 3) return false;
  const unsigned code = code_point(character);
  return code < 0xA0 || code == 0x061C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code >= 0xFFFE;
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;
  std::size_t i = 0;
  while (i < text.size()) {
    std::uint64_t block = 0;
    while (i + sizeof(block) <= text.size()) {
      std::memcpy(&block, text.data() + i, sizeof(block));
      if ((block & kHighBits) != 0) break;
      i += sizeof(block);
    }
    if (i >= text.size()) break;
    const std::size_t length = character_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return std::nullopt;
}

void require_utf8(const std::filesystem::path& file, std::string_view text) {
  const auto byte = first_invalid_utf8(text);
  if (!byte) return;
  throw FormatError("'{}': text must be UTF-8, byte {} is not; convert it, e.g. with iconv",
                    file.string(), *byte);
}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string result;
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t length = character_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    std::string piece(text.substr(i, length == 0 ? 1 : length));
    if (piece == "\n") {
      piece = "\\n";
    } else if (piece == "\t") {
      piece = "\\t";
    } else if (length == 0 || byte < 0x20 || byte == 0x7F) {
      piece = fmt::format("\\x{:02x}", byte);
    } else if (is_control(piece)) {
      piece = fmt::format("\\u{:04x}", code_point(piece));
    }
    if (result.size() + piece.size() > max_bytes) return result + "...";
    result += piece;
    i += length == 0 ? 1 : length;
  }
  return result;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char letter : text) quoted.append(letter == '"' ? 2 : 1, letter);
  return quoted + '"';
}

std::string single_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%";
  const bool is_plain = !text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos;
  return is_plain ? std::string(text) : single_quoted(text);
}

}  // namespace lime
