// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/tokenizer/pattern_set.h"
#include "checkpoint/tokenizer/special_tokens.h"
#include "core/random.h"

namespace lime {
namespace {

std::string random_text(Random& random, std::uint64_t longest) {
  std::string text(1 + random.below(longest), ' ');
  for (char& c : text) c = static_cast<char>('a' + random.below(3));
  return text;
}

TEST(PatternSetTest, FindsTheLeftmostLongestPattern) {
  Random random(21);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::string> patterns;
    PatternSet set;
    for (std::uint64_t i = 1 + random.below(6); i > 0; --i) {
      patterns.push_back(random_text(random, 5));
      set.add(patterns.back(), patterns.size() - 1);
    }
    const std::string text = random_text(random, 30);
    std::size_t best_begin = text.size();
    std::size_t best_length = 0;
    for (const std::string& pattern : patterns) {
      const std::size_t begin = text.find(pattern);
      if (begin == std::string::npos || begin > best_begin) continue;
      if (begin < best_begin) best_length = 0;
      best_begin = begin;
      best_length = std::max(best_length, pattern.size());
    }
    const auto match = set.find(text, 0);
    ASSERT_EQ(match.has_value(), best_length > 0);
    if (!match) continue;
    EXPECT_EQ(match->begin, best_begin);
    EXPECT_EQ(match->end, best_begin + best_length);
    EXPECT_EQ(patterns[match->value], text.substr(best_begin, best_length));
  }
}

TEST(AddedTokenFinderTest, SwallowsSpaceAndKeepsToWholeWords) {
  const std::vector<AddedToken> tokens = {
      {.content = "<m>", .id = 1, .lstrip = true, .rstrip = true},
      {.content = "he", .id = 2, .single_word = true},
      {.content = "<s>", .id = 3, .special = true}};
  const AddedTokenFinder finder(tokens, {"<m>", "he", "<s>"});
  const auto split = [&](const std::string& text, bool skip_special = false) {
    std::string shown;
    for (const auto& part : finder.split(text, skip_special)) {
      shown += part.token == nullptr ? "(" : "[";
      shown += part.text;
      shown += part.token == nullptr ? ")" : "]";
    }
    return shown;
  };
  EXPECT_EQ(split("a \u00A0<m>\n b"), "(a)[ \u00A0<m>\n ](b)");
  EXPECT_EQ(split("<m> <m>"), "[<m> ][<m>]");
  EXPECT_EQ(split("he the hex _he he\u0301 he."), "[he]( the hex _he he\u0301 )[he](.)");
  EXPECT_EQ(split("a<s>b"), "(a)[<s>](b)");
  EXPECT_EQ(split("a<s>b", true), "(a<s>b)");
  EXPECT_EQ(split(""), "");
}

}  // namespace
}  // namespace lime
