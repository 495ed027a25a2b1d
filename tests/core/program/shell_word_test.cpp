// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/utf8.h"
#include "support/test_data.h"

namespace lime {
namespace {

TEST(ShellWordTest, QuotesOnlyWhatAShellWouldTakeApart) {
  EXPECT_EQ(shell_word("runs/a-1_b.h5"), "runs/a-1_b.h5");
  EXPECT_EQ(shell_word("key=0.5,1:@%+"), "key=0.5,1:@%+");
  EXPECT_EQ(shell_word("two words"), "'two words'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("plain\n"), "'plain\n'");
  EXPECT_EQ(single_quoted("plain"), "'plain'");
}

TEST(ShellWordTest, AShellGivesBackWhatWasQuoted) {
  for (const char* const text : {"it's", "$HOME", "a\\b", "`x`", "*", "~", "''", "\xc3\xa9 e"}) {
    EXPECT_EQ(testing::run_command("printf %s " + shell_word(text)).output, text);
  }
}

}  // namespace
}  // namespace lime
