// SPDX-License-Identifier: Apache-2.0
#include "core/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace lime {
namespace {

/// Definition (RFC 3629, section 3): decodes bit by bit, then checks that the code point has this
/// encoding.
bool is_one_character(const std::string& bytes) {
  if (bytes.empty()) return false;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  std::size_t length = 0;
  unsigned code = 0;
  if (byte(0) < 0x80) {
    length = 1;
    code = byte(0);
  } else if ((byte(0) & 0xE0) == 0xC0) {
    length = 2;
    code = byte(0) & 0x1F;
  } else if ((byte(0) & 0xF0) == 0xE0) {
    length = 3;
    code = byte(0) & 0x0F;
  } else if ((byte(0) & 0xF8) == 0xF0) {
    length = 4;
    code = byte(0) & 0x07;
  }
  if (length != bytes.size()) return false;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return false;
    code = code << 6 | (byte(i) & 0x3F);
  }
  const std::size_t shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return length == shortest && !surrogate && code <= 0x10FFFF;
}

TEST(Utf8Test, AgreesWithTheDefinitionOnAllShortSequences) {
  // Continuation bytes at and just outside both ends of every range.
  const std::string edges = "\x7F\x80\x8F\x90\x9F\xA0\xBF\xC0";
  for (int first = 0; first < 256; ++first) {
    const std::string one(1, static_cast<char>(first));
    ASSERT_EQ(!first_invalid_utf8(one), is_one_character(one)) << first;
    for (const char second : edges) {
      for (const char third : edges) {
        const std::string three = one + second + third;
        for (const char fourth : edges) {
          const std::string four = three + fourth;
          if (static_cast<unsigned char>(first) >= 0xF0) {
            ASSERT_EQ(!first_invalid_utf8(four), is_one_character(four)) << printable(four);
          }
        }
        if (first >= 0xE0) {
          ASSERT_EQ(!first_invalid_utf8(three), is_one_character(three)) << printable(three);
        }
      }
      const std::string two = one + second;
      if (first >= 0x80) {
        ASSERT_EQ(!first_invalid_utf8(two), is_one_character(two)) << printable(two);
      }
    }
  }
}

TEST(Utf8Test, NamesTheFirstBadByte) {
  EXPECT_EQ(first_invalid_utf8("plain"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("na\xC3\xAFve \xF0\x9F\x8D\x8B"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("\x80"), 0u);              // continuation alone
  EXPECT_EQ(first_invalid_utf8("ab\xC0\xAF"), 2u);        // overlong
  EXPECT_EQ(first_invalid_utf8("ab\xED\xA0\x80"), 2u);    // surrogate
  EXPECT_EQ(first_invalid_utf8("\xF4\x90\x80\x80"), 0u);  // above U+10FFFF
  EXPECT_EQ(first_invalid_utf8("abc\xE2\x82"), 3u);       // truncated
  for (std::size_t length = 0; length < 40; ++length) {   // past the blocks of eight
    EXPECT_EQ(first_invalid_utf8(std::string(length, 'x') + "\xFFyy"), length);
  }
}

TEST(PrintableTest, EscapesControlCharactersAndBadBytes) {
  EXPECT_EQ(printable("a\nb\tc\x01\x7F\xFF"), "a\\nb\\tc\\x01\\x7f\\xff");
  EXPECT_EQ(printable("\xC3\xA9"), "\xC3\xA9");
  EXPECT_EQ(printable("\u202e\u200f\u061c\u009b\uffff\ufffd"),
            "\\u202e\\u200f\\u061c\\u009b\\uffff\ufffd");
}

TEST(PrintableTest, CutsBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("ab\xC3\xA9", 3), "ab...");
}

}  // namespace
}  // namespace lime
