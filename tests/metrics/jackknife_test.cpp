// SPDX-License-Identifier: Apache-2.0
#include "metrics/jackknife.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "core/errors.h"
#include "core/random.h"

namespace lime {
namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(JackknifeTest, OfAMeanIsTheUsualStandardErrorAndTheItems) {
  const std::vector<double> items = {1.0, 4.0, 2.0, 8.0, 5.0, 7.0};
  std::vector<double> without;
  for (const double item : items) without.push_back((mean_of(items) * 6.0 - item) / 5.0);
  const Jackknife result = jackknife(mean_of(items), without);
  double squares = 0.0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_NEAR(result.pseudo_values[i], items[i], 1e-12);
    squares += (items[i] - mean_of(items)) * (items[i] - mean_of(items));
  }
  const double standard_error = std::sqrt(squares / 5.0 / 6.0);
  EXPECT_NEAR(result.standard_error, standard_error, 1e-12);
  // scipy.stats.t.ppf(0.975, 5) = 2.5705818
  EXPECT_NEAR(result.ci_high - mean_of(items), 2.5705818 * standard_error, 2e-3);
  EXPECT_NEAR(result.ci_high + result.ci_low, 2.0 * mean_of(items), 1e-12);
}

// The variance with n instead of n - 1 has a bias of order 1 / n, which the jackknife removes.
TEST(JackknifeTest, PseudoValuesRemoveTheBiasOfTheVariance) {
  const std::vector<double> items = {1.0, 4.0, 2.0, 8.0, 5.0, 7.0};
  const auto variance = [](const std::vector<double>& values) {
    double squares = 0.0;
    for (const double value : values) {
      squares += (value - mean_of(values)) * (value - mean_of(values));
    }
    return squares / static_cast<double>(values.size());
  };
  std::vector<double> without;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::vector<double> rest = items;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    without.push_back(variance(rest));
  }
  EXPECT_NEAR(mean_of(jackknife(variance(items), without).pseudo_values),
              variance(items) * 6.0 / 5.0, 1e-12);
}

TEST(JackknifeTest, IntervalCoversTheTrueVarianceAsOftenAsItSays) {
  constexpr int kTrials = 400;
  constexpr int kItems = 200;
  Random random(4);
  int covered = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> sum(21, 0.0);
    std::vector<double> squares(21, 0.0);
    for (int i = 0; i < kItems; ++i) {
      const double value = random.normal();
      for (int g = 0; g <= 20; ++g) {
        if (i * 20 / kItems == g) continue;  // block 20: all items
        sum[static_cast<std::size_t>(g)] += value;
        squares[static_cast<std::size_t>(g)] += value * value;
      }
    }
    const auto variance = [&](std::size_t g) {
      const double n = g == 20 ? kItems : kItems - kItems / 20;
      return squares[g] / n - sum[g] / n * sum[g] / n;
    };
    std::vector<double> without;
    for (std::size_t g = 0; g < 20; ++g) without.push_back(variance(g));
    const Jackknife result = jackknife(variance(20), without);
    covered += result.ci_low <= 1.0 && 1.0 <= result.ci_high ? 1 : 0;
  }
  // 95% minus the effect of skewness; the fraction over 400 trials has a standard error of 1.1%.
  EXPECT_NEAR(static_cast<double>(covered) / kTrials, 0.94, 0.035);
}

TEST(JackknifeTest, BlocksAreOfLikeSizeAndInOrder) {
  const std::vector<Block> blocks = cut_into_blocks(13, 5);
  std::int64_t next = 0;
  for (const Block& block : blocks) {
    EXPECT_EQ(block.first, next);
    EXPECT_GE(block.last - block.first, 2);
    EXPECT_LE(block.last - block.first, 3);
    next = block.last;
  }
  EXPECT_EQ(next, 13);
  EXPECT_THROW(cut_into_blocks(4, 5), InvalidArgument);
  EXPECT_THROW(cut_into_blocks(13, 4), InvalidArgument);
}

TEST(JackknifeTest, RefusesFewBlocksAndWhatIsNotFinite) {
  EXPECT_THROW(jackknife(1.0, std::vector<double>(4, 1.0)), InvalidArgument);
  EXPECT_THROW(jackknife(std::nan(""), std::vector<double>(5, 1.0)), InvalidArgument);
}

}  // namespace
}  // namespace lime
