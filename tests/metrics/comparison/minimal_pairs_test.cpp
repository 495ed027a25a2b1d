// SPDX-License-Identifier: Apache-2.0
#include "metrics/comparison/minimal_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/errors.h"
#include "support/refusal.h"

namespace lime {
namespace {

using enum PairOutcome;
using ::testing::ElementsAre;

template <typename F> std::string refusal(F call) {
  return testing::refusal_of<InvalidArgument>(call);
}

TEST(JudgePairsTest, ComparesScores) {
  const std::vector<double> good = {-1.0, -3.0, -2.0, 0.0};
  const std::vector<double> bad = {-2.0, -2.0, -2.0, -0.0};
  EXPECT_THAT(compare_pairs(good, bad), ElementsAre(kCorrect, kIncorrect, kTie, kTie));
}

TEST(JudgePairsTest, RefusesWhatCannotBeCompared) {
  const std::vector<double> good = {-1.0, std::numeric_limits<double>::quiet_NaN()};
  const std::vector<double> bad = {-1.0, -2.0};
  EXPECT_EQ(refusal([&] { compare_pairs(good, bad); }),
            "pairs: scores must be finite, got nan and -2 for pair 1");
  EXPECT_EQ(refusal([&] { compare_pairs(std::span(good).first(1), bad); }),
            "pairs: the numbers of good and bad sentences must be equal, got 1 and 2");
}

TEST(PairAccuracyTest, CountsTiesAsAsked) {
  const std::vector<PairOutcome> outcomes = {kCorrect, kTie, kTie, kIncorrect, kCorrect};
  const PairAccuracy harness = pair_accuracy(outcomes, TieRule::kCorrect);
  const PairAccuracy paper = pair_accuracy(outcomes, TieRule::kIncorrect);
  EXPECT_DOUBLE_EQ(harness.accuracy, 0.8);
  EXPECT_DOUBLE_EQ(paper.accuracy, 0.4);
  EXPECT_EQ(harness.num_ties, 2);
  EXPECT_EQ(paper.num_ties, 2);
  // Sample deviation of 1, 1, 1, 0, 1 divided by sqrt(5).
  EXPECT_NEAR(harness.standard_error, 0.2, 1e-15);
}

// The interval in Wilson's (1927) form, with a tabulated quantile.
TEST(PairAccuracyTest, HasWilsonsInterval) {
  std::vector<PairOutcome> outcomes(1000, kIncorrect);
  std::fill_n(outcomes.begin(), 800, kCorrect);
  const PairAccuracy most = pair_accuracy(outcomes, TieRule::kCorrect);
  const double z = 1.959963984540054;
  const double scale = 1.0 + z * z / 1000.0;
  const double centre = (0.8 + z * z / 2000.0) / scale;
  const double reach = z * std::sqrt(0.16 / 1000.0 + z * z / 4.0e6) / scale;
  EXPECT_NEAR(most.ci_low, centre - reach, 1e-12);
  EXPECT_NEAR(most.ci_high, centre + reach, 1e-12);
  const std::vector<PairOutcome> all(20, kCorrect);
  EXPECT_EQ(pair_accuracy(all, TieRule::kCorrect).ci_high, 1.0);
  EXPECT_NEAR(pair_accuracy(all, TieRule::kCorrect).ci_low, 20.0 / (20.0 + z * z), 1e-12);
}

TEST(PairAccuracyTest, RefusesNoPairs) {
  EXPECT_EQ(refusal([] { pair_accuracy({}, TieRule::kCorrect); }),
            "pairs: expected at least one, got none");
}

TEST(PooledStandardErrorTest, OfOneTaskIsItsOwn) {
  const std::vector<PairOutcome> outcomes = {kCorrect, kIncorrect, kCorrect, kCorrect};
  const std::vector<PairAccuracy> tasks = {pair_accuracy(outcomes, TieRule::kCorrect)};
  EXPECT_NEAR(pooled_standard_error(tasks), tasks[0].standard_error, 1e-15);
  const std::vector<PairAccuracy> twice = {tasks[0], tasks[0]};
  EXPECT_NEAR(pooled_standard_error(twice), tasks[0].standard_error / std::sqrt(2.0), 1e-15);
}

}  // namespace
}  // namespace lime
