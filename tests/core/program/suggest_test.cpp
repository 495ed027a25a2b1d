// SPDX-License-Identifier: Apache-2.0
#include "core/program/suggest.h"

#include <gtest/gtest.h>

#include <vector>

namespace lime {
namespace {

TEST(EditDistanceTest, CountsEditsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("layer", "layre"), 1u);
  EXPECT_EQ(edit_distance("entropy", "entrpy"), 1u);
}

TEST(ClosestWordTest, FindsSlipsOnly) {
  const std::vector<std::string> words = {"entropy", "separability", "cost"};
  EXPECT_EQ(closest_word("entorpy", words), "entropy");
  EXPECT_EQ(closest_word("csot", words), "cost");
  EXPECT_EQ(closest_word("banana", words), "");
  EXPECT_EQ(closest_word("x", {}), "");
}

TEST(JoinWordsTest, SaysNoneForNothing) {
  EXPECT_EQ(join_words({}), "none");
  EXPECT_EQ(join_words(std::vector<std::string>{"a", "b"}), "a, b");
}

}  // namespace
}  // namespace lime
