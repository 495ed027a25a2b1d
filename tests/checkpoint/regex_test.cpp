// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tokenizer/regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "checkpoint/tokenizer/oniguruma.h"
#include "checkpoint/tokenizer/work_budget.h"
#include "core/errors.h"
#include "support/refusal.h"

namespace lime {
namespace {

std::vector<std::string> matches(const std::string& pattern, const std::string& text) {
  const Regex regex(pattern);
  RegexMatcher matcher(regex);
  WorkBudget budget(text.size());
  std::vector<std::string> found;
  std::size_t at = 0;
  while (const auto match = matcher.find(text, at, StageWork(budget, "test"))) {
    if (match->end == match->begin) break;
    found.push_back(text.substr(match->begin, match->end - match->begin));
    at = match->end;
  }
  return found;
}

using Strings = std::vector<std::string>;

// Expected matches of Oniguruma are from Hugging Face's tokenizers 0.23.3, for every code point.

TEST(RegexTest, WhiteSpaceIsUnicodesAndNotPerls) {
  const std::string all =
      "\t\n\v\f\r \u0085\u00A0\u1680\u2000\u200A\u2028\u2029\u202F\u205F\u3000"
      "\u180E\u200B\u2060\uFEFF\x1C";
  EXPECT_EQ(matches(R"(\s+)", all), Strings{all.substr(0, all.find("\u180E"))});
  EXPECT_EQ(matches(R"([^\S\r\n]+)", "a \t\r\nb"), Strings{" \t"});
  EXPECT_EQ(matches(R"(\v)", "a\v\nb"), Strings{"\v"});
}

TEST(RegexTest, WordsHoldMarksConnectorsAndLatinNumbers) {
  EXPECT_EQ(matches(R"(\w+)", "a_\u203F\u0301\u00B2\u00BD \u2460 \u24D0\u2160-x"),
            (Strings{"a_\u203F\u0301\u00B2\u00BD", "\u24D0\u2160", "x"}));
  EXPECT_EQ(matches(R"([\w'-]+)", "don't-x y"), (Strings{"don't-x", "y"}));
  EXPECT_EQ(matches(R"(\W+)", "a, b"), Strings{", "});
  EXPECT_EQ(matches(R"(\h+)", "xAf09g"), Strings{"Af09"});
}

TEST(RegexTest, ScriptsAreWithoutTheirExtensions) {
  EXPECT_EQ(matches(R"(\p{Han}+)", "\u4E2D\u6587\u3002\u4F60"),
            (Strings{"\u4E2D\u6587", "\u4F60"}));
  EXPECT_EQ(matches(R"(\p{^Han}+)", "\u4E2D\u3002\u4F60"), Strings{"\u3002"});
  EXPECT_EQ(matches(R"(\p{Letter}+\p{Number}\P{L})", "ab1!"), Strings{"ab1!"});
  EXPECT_EQ(matches("[[:punct:]]+", "a$+.b"), Strings{"$+."});
}

TEST(RegexTest, CaseFoldsAsUnicodeSays) {
  EXPECT_EQ(matches("(?i:'s|'ll)", "'s'S'\u017F'lL"), (Strings{"'s", "'S", "'\u017F", "'lL"}));
}

TEST(RegexTest, LineEndsAreRubys) {
  EXPECT_EQ(matches("^a$", "a\na\nb"), (Strings{"a", "a"}));
  EXPECT_EQ(matches("[a-c]{,2}x", "abcx"), Strings{"bcx"});
  EXPECT_EQ(matches(R"({x})", "a{x}"), Strings{"{x}"});
  EXPECT_EQ(matches(R"(\u4e2d)", "\u4E2D"), Strings{"\u4E2D"});
}

TEST(RegexTest, CodePointsMayBeInBraces) {
  EXPECT_EQ(matches(R"(\x{1F34B}+)", "a\U0001F34B\U0001F34B"), Strings{"\U0001F34B\U0001F34B"});
  EXPECT_EQ(matches(R"([\x{e9}-\x{EA}]\x41\x{42})", "\u00E9AB"), Strings{"\u00E9AB"});
  EXPECT_EQ(matches(R"(\x{41}{2})", "AAA"), Strings{"AA"});
}

TEST(RegexTest, WordBoundariesFollowOnigurumasWords) {
  EXPECT_EQ(matches(R"(\bfoo\b)", "foo food foo\u0301 _foo \u2460foo"), (Strings{"foo", "foo"}));
  EXPECT_EQ(matches(R"(\B.)", "ab, c"), (Strings{"b", " "}));
}

TEST(RegexTest, QuotedTextMatchesItself) {
  const std::string text = R"(a.b*c[d]{2}(e)|^$\f+?-#)";
  EXPECT_EQ(matches(quote_pattern(text), "x" + text + "x"), Strings{text});
}

TEST(RegexTest, WhatCannotBeCarriedOverIsNamed) {
  const auto message = [](const std::string& pattern) -> std::string {
    return testing::refusal_of<FormatError>([&] { const Regex regex(pattern); });
  };
  EXPECT_EQ(message("a{1,3}+"), "pattern 'a{1,3}+': {n,m}+ at byte 1 is not supported");
  EXPECT_EQ(message(R"(a\x{41 42})"),
            R"(pattern 'a\x{41 42}': \x{ without a number at byte 1 is not supported)");
  EXPECT_EQ(message(R"((a)\1)"), R"(pattern '(a)\1': \1 at byte 3 is not supported)");
  EXPECT_EQ(message("[a[bc]]"),
            "pattern '[a[bc]]': a class inside brackets at byte 2 is not "
            "supported");
  EXPECT_EQ(message(R"([\W])"),
            R"(pattern '[\W]': a negated shorthand inside brackets at byte 1 is not supported)");
  EXPECT_EQ(message("(?m:.)"), "pattern '(?m:.)': a group of this kind at byte 0 is not supported");
  EXPECT_EQ(message("(?im:.)"),
            "pattern '(?im:.)': a flag other than i at byte 0 is not supported");
  EXPECT_EQ(message("a\\"), "pattern 'a\\': a lone backslash at byte 1 is not supported");
  EXPECT_NE(message(R"(\p{Nonsense})"), "");
}

TEST(RegexTest, DeepMatchesEndInAResultOrAnError) {
  const Regex groups("(?:a|b)*c");
  RegexMatcher matcher(groups);
  std::string text(1 << 20, 'a');
  WorkBudget budget(text.size());
  const StageWork work(budget, "test");
  try {
    EXPECT_FALSE(matcher.find(text, text.size() - 10, work).has_value());
    text += 'c';
    const auto match = matcher.find(text, 0, work);
    ASSERT_TRUE(match.has_value());
    EXPECT_EQ(match->end, text.size());
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("bounded memory"), std::string::npos);
  }
}

TEST(RegexTest, SearchesBeyondOneCallOfPcre2) {
  for (const std::size_t gap : {0, 1, 63, 64, 65, 66, 1000}) {
    std::string text;
    while (text.size() < gap) text += "\u00E9";
    const std::string number = "12";
    EXPECT_EQ(matches(R"(\d+)", text + number + text), Strings{number}) << gap;
    EXPECT_EQ(matches("(?<=\u00E9|^)\\d+", text + number), Strings{number}) << gap;
    EXPECT_EQ(matches(R"(\d$)", text), Strings{}) << gap;
  }
}

TEST(RegexTest, MatchesThatTakeManyStepsEqualThoseThatTakeFew) {
  const std::string spaces(10000, ' ');
  EXPECT_EQ(matches(R"(\s+$)", spaces + "a" + spaces), Strings{spaces});
  EXPECT_EQ(matches(R"(\s*[\r\n]+|\s+(?!\S)|\s+)", spaces + "a" + spaces + "\nb"),
            (Strings{spaces.substr(1), " ", spaces + "\n"}));
}

TEST(RegexTest, PatternsWithExponentialTimeAreRefused) {
  const std::string text = std::string(3000, 'a') + "\n#";
  for (const char* pattern : {R"((?:[\s\S]|[\s\S]){20}##|[\s\S])", R"((?:\w|\w){18}#|\w|.)",
                              R"((?:[\s\S]|[\s\S]){20}##)", R"((\w*)*#)"}) {
    EXPECT_EQ(testing::refusal_of<InvalidArgument>([&] { matches(pattern, text); }),
              "test: the pattern must match in at most 130020000 steps on a text of 3002 bytes; "
              "the tokenizer file is malicious or broken, or the text is unusual")
        << pattern;
  }
}

TEST(RegexTest, PatternsThatReadFarAheadGiveTheSameMatches) {
  for (const std::size_t length : {500, 512, 513, 575, 576, 577, 2048, 5000}) {
    const std::string word(length, 'a');
    EXPECT_EQ(matches(R"(a+$|b)", word + "b" + word), (Strings{"b", word})) << length;
    EXPECT_EQ(matches("[^#]*#", word + "#" + word), Strings{word + "#"}) << length;
    EXPECT_EQ(matches("é+", "é" + word + "éé"), (Strings{"é", "éé"})) << length;
  }
}

TEST(RegexTest, PatternsThatReadFarAheadEverywhereAreRefused) {
  EXPECT_EQ(matches("[^#]*#|.", std::string(5000, 'a')).size(), 5000U);
  const std::string text(100'000, 'a');
  EXPECT_THAT([&] { matches("[^#]*#|.", text); },
              ::testing::ThrowsMessage<InvalidArgument>(
                  ::testing::HasSubstr("must match in at most 1100000000 steps")));
}

}  // namespace
}  // namespace lime
