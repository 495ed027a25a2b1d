// SPDX-License-Identifier: Apache-2.0
#include "core/program/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/utf8.h"

namespace lime {
namespace {

TEST(TerminalTest, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(escaped("a\x1b[31mb\nc"), "a\\x1b[31mb\\nc");
  EXPECT_EQ(escaped("\xC2\x9B[2J"), "\\u009b[2J") << "a control sequence introducer of one byte";
  EXPECT_EQ(escaped("a\xE2\x80\xAE"
                    "b\xE2\x81\xA6\xE2\x80\xA8"),
            "a\\u202eb\\u2066\\u2028");
  EXPECT_EQ(escaped("\xC3\xA9 \xE2\x94\x80"), "\xC3\xA9 \xE2\x94\x80");
  EXPECT_EQ(escaped(std::string(500, 'x')), std::string(500, 'x'));
}

TEST(TerminalTest, KeepsTheLinesOfATable) {
  EXPECT_EQ(escaped_lines("a\tb\n\x1b]0;title\x07\n"), "a\tb\n\\x1b]0;title\\x07\n");
  EXPECT_EQ(escaped_lines(""), "");
}

TEST(TerminalTest, MessagesKeepBothEndsOfWhatTheyQuote) {
  const std::string line =
      message_line("seed: must be below 2^64, got " + std::string(1000000, '7') + "; give less");
  EXPECT_LT(line.size(), 300U);
  EXPECT_THAT(line, ::testing::StartsWith("seed: must be below 2^64, got 777"));
  EXPECT_THAT(line, ::testing::EndsWith("777; give less"));

  std::string field;
  for (int i = 0; i < 20000; ++i) field += "word ";
  const std::string words =
      message_line("'a.json': must be a number, got '" + field + "'; mend it");
  EXPECT_LT(words.size(), 1010U);
  EXPECT_THAT(words, ::testing::StartsWith("'a.json': must be a number, got 'word word "));
  EXPECT_THAT(words, ::testing::EndsWith(" word '; mend it"));

  EXPECT_EQ(message_line("two\nlines"), "two\\nlines");
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string accents(shift, 'x');
    for (int i = 0; i < 300; ++i) accents += "\xE2\x94\x80";
    EXPECT_FALSE(first_invalid_utf8(message_line(accents))) << shift;
  }
}

}  // namespace
}  // namespace lime
