// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/byte_alphabet.h"

#include <array>
#include <cstddef>

namespace lime {
namespace {

constexpr unsigned kFirstStandIn = 0x100;
constexpr unsigned kEndOfAlphabet = kFirstStandIn + 68;

bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<std::string, 256> spellings;
  std::array<int, kEndOfAlphabet> bytes{};

  Alphabet() {
    bytes.fill(-1);
    unsigned stand_in = kFirstStandIn;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const unsigned code = stands_for_itself(byte) ? byte : stand_in++;
      bytes.at(code) = static_cast<int>(byte);
      std::string& spelling = spellings.at(byte);
      if (code >= 0x80) spelling += static_cast<char>(0xC0 | (code >> 6));
      spelling += static_cast<char>(code < 0x80 ? code : 0x80 | (code & 0x3F));
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

const std::string& spell_byte(unsigned char byte) { return alphabet().spellings.at(byte); }

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string result;
  for (std::size_t at = 0; at < spelling.size();) {
    unsigned code = static_cast<unsigned char>(spelling[at++]);
    if (code >= 0xC0) {
      if (code >= 0xE0 || at >= spelling.size()) return std::nullopt;
      code = ((code & 0x1F) << 6) | (static_cast<unsigned char>(spelling[at++]) & 0x3F);
    }
    if (code >= kEndOfAlphabet || alphabet().bytes.at(code) < 0) return std::nullopt;
    result += static_cast<char>(alphabet().bytes.at(code));
  }
  return result;
}

}  // namespace lime
