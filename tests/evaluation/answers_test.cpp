// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/files/input_file.h"
#include "core/json.h"
#include "evaluation/text_generator.h"
#include "support/test_data.h"

namespace lime {
namespace {

TEST(AnswersTest, StrictAnswerIsTheFirstMarkedNumber) {
  EXPECT_EQ(strict_answer("so 3.\n#### 1,080.\n#### 7"), "1,080.");
  EXPECT_EQ(strict_answer("#### x #### -5 apples"), "-5");
  EXPECT_EQ(strict_answer("#### -"), "[invalid]");
  EXPECT_EQ(strict_answer("12"), "[invalid]");
}

TEST(AnswersTest, FlexibleAnswerIsTheLastNumber) {
  EXPECT_EQ(flexible_answer("5 apples, $1,080 or -12 left"), "-12");
  EXPECT_EQ(flexible_answer("costs $24.50."), "$24.50.");
  EXPECT_EQ(flexible_answer("a 7 and ... no"), "...");
  EXPECT_EQ(flexible_answer("none, ."), "[invalid]");
}

TEST(AnswersTest, ExactMatchIgnoresCommasDollarsAndTheFinalPeriod) {
  EXPECT_TRUE(is_exact_match("$1,080.", "He has 1 then.\n#### 1080"));
  EXPECT_FALSE(is_exact_match("24.0", "#### 24"));
  EXPECT_TRUE(is_exact_match("YES", "yes"));
}

TEST(AnswersTest, ScoresTheAnswersAsTheHarnessDoes) {
  const auto file = testing::test_data("benchmarks/lm-eval-goldens/gsm8k.scoring.jsonl");
  if (!exists(file)) GTEST_SKIP() << testing::skip_reason(file);
  for_each_line(file, [](std::string_view text, std::int64_t number) {
    const Json line = parse_json(text, "scoring");
    const auto response = line["response"].get<std::string>();
    const auto target = line["target"].get<std::string>();
    for (const char* const filter : {"strict-match", "flexible-extract"}) {
      const std::string answer =
          filter[0] == 's' ? strict_answer(response) : flexible_answer(response);
      EXPECT_EQ(answer, line[filter]["filtered"]) << filter << " line " << number;
      EXPECT_EQ(is_exact_match(answer, target) ? 1.0 : 0.0,
                line[filter]["exact_match"].get<double>())
          << filter << " line " << number;
    }
    return true;
  });
}

}  // namespace
}  // namespace lime
