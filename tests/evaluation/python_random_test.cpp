// SPDX-License-Identifier: Apache-2.0
// Numbers of CPython 3.11: r = random.Random(1234); r.getrandbits(32), r.sample(range(n), k).
#include "evaluation/python_random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::ElementsAre;

TEST(PythonRandomTest, ReturnsTheWordsOfCPython) {
  PythonRandom random(1234);
  EXPECT_EQ(random.word(), 4150886329U);
  EXPECT_EQ(random.word(), 3342196574U);
  EXPECT_EQ(random.word(), 1892932127U);
}

TEST(PythonRandomTest, DrawsTheSamplesOfCPython) {
  PythonRandom random(1234);
  EXPECT_THAT(random.sample(100, 3), ElementsAre(99, 56, 14));
  EXPECT_THAT(random.sample(100, 3), ElementsAre(0, 11, 74));
  EXPECT_THAT(random.sample(100, 3), ElementsAre(4, 85, 88));
  EXPECT_THAT(random.sample(10, 4), ElementsAre(1, 9, 5, 8));
  EXPECT_THAT(random.sample(10, 4), ElementsAre(0, 9, 8, 2));
  EXPECT_THAT(random.sample(30, 8), ElementsAre(20, 19, 15, 28, 14, 4, 2, 5));
  EXPECT_THAT(random.sample(5000, 2), ElementsAre(937, 119));
}

TEST(PythonRandomTest, SwitchesFromListToRejectionAsCPythonDoes) {
  PythonRandom random(7);
  EXPECT_THAT(random.sample(85, 6), ElementsAre(41, 19, 50, 6, 9, 68));
  EXPECT_THAT(random.sample(84, 6), ElementsAre(12, 46, 74, 7, 64, 27));
  EXPECT_THAT(random.sample(86, 6), ElementsAre(4, 11, 55, 53, 8, 30));
}

TEST(PythonRandomTest, DrawsTheFewShotExamplesOfTheHarness) {
  const auto file = testing::test_data("benchmarks/lm-eval-goldens/fewshot_draws.json");
  if (!exists(file)) GTEST_SKIP() << testing::skip_reason(file);
  const Json draws = read_json_file(file);
  for (const Json& sample : draws["samples"]) {
    PythonRandom random(sample["seed"].get<std::uint32_t>());
    for (const Json& draw : sample["draws"]) {
      EXPECT_EQ(Json(random.sample(sample["n"].get<std::size_t>(), sample["k"].get<std::size_t>())),
                draw);
    }
  }
}

}  // namespace
}  // namespace lime
