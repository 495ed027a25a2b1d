// SPDX-License-Identifier: Apache-2.0
#include "metrics/comparison/paired_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/errors.h"
#include "core/json.h"
#include "core/random.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

const Json& scipy_golden() {
  static const Json json = read_json_file(testing::golden_file("comparison.json"));
  return json;
}

std::vector<double> numbers(const Json& list) { return list.get<std::vector<double>>(); }

TEST(ComparePairedTest, PValuesAreThoseOfScipy) {
  for (const Json& entry : scipy_golden().at("paired")) {
    const auto result = compare_paired(numbers(entry.at("first")), numbers(entry.at("second")));
    const double expected = entry.at("p_value");
    EXPECT_EQ(result.exact, entry.at("exact").get<bool>()) << entry.at("name");
    // Random flips: four standard errors of 10,000 of them, and of SciPy's 200,000.
    const double error = 4.0 * std::sqrt(expected * (1.0 - expected) * (1e-4 + 5e-6)) + 1e-4;
    EXPECT_NEAR(result.p_value, expected, result.exact ? 1e-12 : error) << entry.at("name");
  }
}

TEST(ComparePairedTest, IntervalsAreThoseOfScipy) {
  for (const Json& entry : scipy_golden().at("paired")) {
    const auto result = compare_paired(numbers(entry.at("first")), numbers(entry.at("second")),
                                       {.resamples = 100000});
    // The ends of a resampled interval vary by about 1% of its width at 100,000 resamples.
    const double width = entry.at("ci_high").get<double>() - entry.at("ci_low").get<double>();
    EXPECT_NEAR(result.ci_low, entry.at("ci_low").get<double>(), 0.02 * width) << entry.at("name");
    EXPECT_NEAR(result.ci_high, entry.at("ci_high").get<double>(), 0.02 * width)
        << entry.at("name");
  }
}

TEST(ComparePairedTest, EqualSignsHaveTheSmallestPValue) {
  // Only the observed signs and their mirror image reach |sum|: 2 of 2^n.
  const std::vector<double> first(8, 0.0);
  const std::vector<double> second = {1.0, 2.0, 0.5, 3.0, 0.25, 1.5, 4.0, 0.125};
  const PairedComparison result = compare_paired(first, second);
  EXPECT_TRUE(result.exact);
  EXPECT_DOUBLE_EQ(result.p_value, std::ldexp(1.0, 1 - 8));
  EXPECT_GT(result.ci_low, 0.0);
}

TEST(ComparePairedTest, EqualSamplesDoNotDiffer) {
  const std::vector<double> values = {0.1, 0.2, 0.7};
  const PairedComparison result = compare_paired(values, values);
  EXPECT_EQ(result.difference, 0.0);
  EXPECT_EQ(result.p_value, 1.0);
  EXPECT_EQ(result.ci_low, 0.0);
  EXPECT_EQ(result.ci_high, 0.0);
}

TEST(ComparePairedTest, OnePairSaysNothing) {
  const std::vector<double> first = {1.0};
  const std::vector<double> second = {3.0};
  const PairedComparison result = compare_paired(first, second);
  EXPECT_EQ(result.difference, 2.0);
  EXPECT_EQ(result.p_value, 1.0);
  EXPECT_TRUE(std::isnan(result.ci_low));
}

TEST(ComparePairedTest, ExchangingTheSamplesTurnsTheDifferenceOnly) {
  Random random(3);
  std::vector<double> first(40);
  std::vector<double> second(40);
  for (double& value : first) value = random.normal();
  for (double& value : second) value = 0.3 + random.normal();
  const PairedComparison there = compare_paired(first, second, {.seed = 9});
  const PairedComparison back = compare_paired(second, first, {.seed = 9});
  EXPECT_EQ(there.difference, -back.difference);
  EXPECT_EQ(there.p_value, back.p_value);
  EXPECT_FALSE(there.exact);
}

TEST(ComparePairedTest, RandomFlipsAreUniformWhereNothingDiffers) {
  // Under the null hypothesis P(p <= 0.1) = 0.1; 400 repetitions have a standard error of 0.015.
  int hits = 0;
  for (std::uint64_t repetition = 0; repetition < 400; ++repetition) {
    Random random(repetition);
    std::vector<double> first(20);
    std::vector<double> second(20);
    for (double& value : first) value = random.normal();
    for (double& value : second) value = random.normal();
    const auto result = compare_paired(first, second, {.resamples = 500, .seed = repetition});
    if (result.p_value <= 0.1) ++hits;
  }
  EXPECT_NEAR(hits / 400.0, 0.1, 0.06);
}

TEST(ComparePairedTest, RefusesSamplesThatAreNoPairs) {
  const std::vector<double> two = {1.0, 2.0};
  const std::vector<double> three = {1.0, 2.0, 3.0};
  try {
    compare_paired(two, three);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "comparison: both samples must have the same size, got 2 and 3");
  }
  const std::vector<double> broken = {1.0, std::nan("")};
  EXPECT_THROW(compare_paired(two, broken), InvalidArgument);
  EXPECT_THROW(compare_paired({}, {}), InvalidArgument);
  EXPECT_THROW(compare_paired(two, two, {.resamples = 99}), InvalidArgument);
}

}  // namespace
}  // namespace lime
