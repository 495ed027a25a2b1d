// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/utf8.h"

namespace lime {
namespace {

TEST(CsvCellTest, PlainTextStaysAsItIs) {
  EXPECT_EQ(csv_cell(""), "");
  EXPECT_EQ(csv_cell("layer 7; values"), "layer 7; values");
}

TEST(CsvCellTest, QuotesWhatWouldEndACellOrARow) {
  EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_cell("a\nb"), "\"a\nb\"");
  EXPECT_EQ(csv_cell("a\rb"), "\"a\rb\"");
  EXPECT_EQ(csv_cell("the \"best\""), "\"the \"\"best\"\"\"");
}

}  // namespace
}  // namespace lime
