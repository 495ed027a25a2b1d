// SPDX-License-Identifier: Apache-2.0
#include "metrics/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/errors.h"
#include "core/random.h"

namespace lime {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;

std::vector<double> normal_sample(int count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(3.0 + 2.0 * random.normal());
  return values;
}

TEST(SummaryTest, HasMeanAndPopulationDeviation) {
  const std::vector<double> values = {1.0, 2.0, 4.0};
  const Summary summary = summarize(values);
  EXPECT_EQ(summary.n, 3);
  EXPECT_DOUBLE_EQ(summary.mean, 7.0 / 3.0);
  EXPECT_NEAR(summary.std, std::sqrt(14.0 / 9.0), 1e-15);
}

TEST(SummaryTest, IntervalIsTheUsualOneForNormalSamples) {
  const std::vector<double> values = normal_sample(400, 1);
  const Summary summary = summarize(values);
  const double half = 1.96 * summary.std / std::sqrt(400.0);
  // The quantiles of 10000 resamples vary by about 2% of the half width.
  EXPECT_NEAR(summary.ci_low, summary.mean - half, 0.08 * half);
  EXPECT_NEAR(summary.ci_high, summary.mean + half, 0.08 * half);
}

TEST(SummaryTest, IntervalCoversTheTrueMeanAsOftenAsItSays) {
  constexpr int kTrials = 400;
  int covered = 0;
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    const Summary summary =
        summarize(normal_sample(60, 100 + trial), {.resamples = 400, .seed = trial});
    if (summary.ci_low <= 3.0 && 3.0 <= summary.ci_high) ++covered;
  }
  // Binomial: 0.95 +- 0.011; the percentile interval of 60 values is slightly narrow.
  EXPECT_NEAR(covered / double{kTrials}, 0.945, 0.04);
}

TEST(SummaryTest, SamplesTogetherHaveTheBitsOfEachAlone) {
  const std::vector<std::vector<double>> samples = {normal_sample(70, 1), normal_sample(70, 2),
                                                    normal_sample(70, 3)};
  const std::vector<Summary> together = summarize_together(samples, {.seed = 4});
  ASSERT_EQ(together.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Summary alone = summarize(samples[i], {.seed = 4});
    EXPECT_EQ(together[i].mean, alone.mean);
    EXPECT_EQ(together[i].std, alone.std);
    EXPECT_EQ(together[i].ci_low, alone.ci_low);
    EXPECT_EQ(together[i].ci_high, alone.ci_high);
  }
  EXPECT_TRUE(summarize_together({}).empty());
  EXPECT_THAT(
      [&] {
        summarize_together(std::vector<std::vector<double>>{{1.0, 2.0}, {1.0}});
      },
      ThrowsMessage<InvalidArgument>(
          StrEq("summary: samples must have the same size, got 2 and 1")));
}

TEST(SummaryTest, DependsOnTheSeedOnly) {
  const std::vector<double> values = normal_sample(30, 2);
  EXPECT_EQ(summarize(values, {.seed = 5}).ci_low, summarize(values, {.seed = 5}).ci_low);
  EXPECT_NE(summarize(values, {.seed = 5}).ci_low, summarize(values, {.seed = 6}).ci_low);
}

TEST(SummaryTest, NarrowsWithLessConfidence) {
  const std::vector<double> values = normal_sample(30, 3);
  const Summary wide = summarize(values, {.confidence = 0.99});
  const Summary narrow = summarize(values, {.confidence = 0.5});
  EXPECT_LT(wide.ci_low, narrow.ci_low);
  EXPECT_GT(wide.ci_high, narrow.ci_high);
}

TEST(SummaryTest, HasNoIntervalOfOneValueOrWithoutResamples) {
  const std::vector<double> one = {2.5};
  EXPECT_TRUE(std::isnan(summarize(one).ci_low));
  EXPECT_EQ(summarize(one).std, 0.0);
  EXPECT_TRUE(std::isnan(summarize(normal_sample(9, 1), {.resamples = 0}).ci_high));
}

TEST(SummaryTest, RefusesWhatItCannotSummarize) {
  const std::vector<double> none;
  EXPECT_THAT([&] { summarize(none); },
              ThrowsMessage<InvalidArgument>(StrEq("summary: needs at least one value, got none")));
  const std::vector<double> bad = {1.0, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THAT(
      [&] { summarize(bad); },
      ThrowsMessage<InvalidArgument>(StrEq("summary: values must be finite, got nan at index 1")));
}

TEST(SummaryTest, RefusesUnfitOptions) {
  const std::vector<double> values = {1.0, 2.0};
  EXPECT_THAT([&] { summarize(values, {.confidence = 1.0}); },
              ThrowsMessage<InvalidArgument>(StrEq("confidence: must be in (0, 1), got 1")));
  EXPECT_THAT([&] { summarize(values, {.resamples = 7}); },
              ThrowsMessage<InvalidArgument>(
                  StrEq("resamples: must be >= 100, or 0 for no interval, got 7")));
  EXPECT_THAT(
      [&] { summarize(values, {.resamples = 1'000'000'000'000}); },
      ThrowsMessage<InvalidArgument>(StrEq("resamples: must be <= 10000000, got 1000000000000")));
}

TEST(SummaryTest, HoldsNoMoreResampledMeansAtOnceThanItSays) {
  EXPECT_EQ(summary_bytes(3, {.resamples = 0}), 0);
  EXPECT_EQ(summary_bytes(3, {.resamples = 10'000}), 240'000);
  EXPECT_EQ(summary_bytes(3, {.resamples = 10'000'000}), 80'000'000);
  EXPECT_LE(summary_bytes(1'000'000, {.resamples = 10'000}), std::int64_t{64} << 20);
}

TEST(SummaryTest, SamplesBeyondThoseHeldAtOnceHaveTheirOwnBits) {
  const SummaryOptions options{.resamples = 3'000'000};  // two samples fit into memory
  std::vector<std::vector<double>> samples;
  for (std::uint64_t i = 0; i < 3; ++i) samples.push_back(normal_sample(2, i));
  const std::vector<Summary> together = summarize_together(samples, options);
  const Summary alone = summarize(samples.back(), options);
  EXPECT_EQ(together.back().ci_low, alone.ci_low);
  EXPECT_EQ(together.back().ci_high, alone.ci_high);
}

}  // namespace
}  // namespace lime
