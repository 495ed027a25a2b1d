// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/intrinsic_dimension.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/errors.h"
#include "core/random.h"
#include "metrics/random_matrix.h"

namespace lime {
namespace {

/// Returns uniform points on a flat square of `dim` dimensions, rotated into `width` ones.
MatrixF flat_square(Eigen::Index points, Eigen::Index dim, Eigen::Index width) {
  Random random(9);
  MatrixD square(points, dim);
  for (Eigen::Index i = 0; i < square.size(); ++i) square.data()[i] = random.uniform();
  return (square * testing::random_matrix(dim, width, 4)).cast<float>();
}

TEST(IntrinsicDimensionTest, FindsTheDimensionOfAFlatSheet) {
  ThreadPool pool(2);
  const MatrixF points = flat_square(3000, 2, 10);
  for (const TwoNnFit fit : {TwoNnFit::kLinear, TwoNnFit::kMl}) {
    for (const MleAverage average : {MleAverage::kInverse, MleAverage::kDirect}) {
      IntrinsicDimensionOptions options;
      options.two_nn_fit = fit;
      options.mle_average = average;
      const IntrinsicDimension found = intrinsic_dimension(points, options, pool);
      EXPECT_NEAR(found.two_nn.value(), 2.0, 0.15);
      EXPECT_NEAR(found.mle.value(), 2.0, 0.15);
      EXPECT_EQ(found.points, 3000);
      EXPECT_EQ(found.duplicates, 0);
    }
  }
}

/// Ratios at the quantiles of F(mu) = 1 - mu^-d are on the fitted line.
TEST(TwoNnTest, QuantilesOfItsLawGiveTheDimensionBack) {
  constexpr int kPoints = 200;
  std::vector<double> log_ratios;
  for (int i = 1; i <= kPoints; ++i) {
    const double quantile = i == kPoints ? 1.0 - 1e-9 : static_cast<double>(i) / kPoints;
    log_ratios.push_back(-std::log(1.0 - quantile) / 3.5);
  }
  EXPECT_NEAR(two_nn_dimension(log_ratios, TwoNnFit::kLinear, 0.1).value(), 3.5, 1e-12);
  EXPECT_NEAR(two_nn_dimension(log_ratios, TwoNnFit::kLinear, 0.0).value(), 3.5, 1e-12);
  EXPECT_FALSE(two_nn_dimension({0.0, 0.0, 0.0}, TwoNnFit::kLinear, 0.1).has_value());
  EXPECT_FALSE(two_nn_dimension({0.5}, TwoNnFit::kMl, 0.1).has_value());
}

/// T = 1, 2, 4: (ln 4 + ln 2) / 2 = 1.5 ln 2.
TEST(MleTest, ThreeDistancesInClosedForm) {
  MatrixD distances(2, 3);
  distances << 1, 2, 4, 1, 2, 8;
  const double first = 1.5 * std::log(2.0);
  const double second = 2.5 * std::log(2.0);
  EXPECT_NEAR(mle_dimension(distances, MleAverage::kInverse).value(), 2.0 / (first + second),
              1e-14);
  EXPECT_NEAR(mle_dimension(distances, MleAverage::kDirect).value(),
              0.5 * (1.0 / first + 1.0 / second), 1e-14);
  EXPECT_FALSE(mle_dimension(MatrixD::Ones(4, 3), MleAverage::kInverse).has_value());
}

TEST(IntrinsicDimensionTest, DropsPointsThatAreNearlyEqual) {
  ThreadPool pool(1);
  MatrixF points = flat_square(300, 2, 6);
  const IntrinsicDimension alone = intrinsic_dimension(points, {}, pool);
  MatrixF doubled(400, 6);
  doubled << points, points.topRows(100);
  doubled.bottomRows(50).array() *= 1.0F + 2e-7F;  // 1 ulp of a float
  const IntrinsicDimension found = intrinsic_dimension(doubled, {}, pool);
  EXPECT_EQ(found.points, 300);
  EXPECT_EQ(found.duplicates, 100);
  EXPECT_EQ(found.two_nn.value(), alone.two_nn.value());
  EXPECT_EQ(found.mle.value(), alone.mle.value());
}

TEST(IntrinsicDimensionTest, GivesTheSameBitsForAnyNumberOfThreads) {
  const MatrixF points = flat_square(700, 3, 12);
  ThreadPool one(1);
  ThreadPool three(3);
  const IntrinsicDimension a = intrinsic_dimension(points, {}, one);
  const IntrinsicDimension b = intrinsic_dimension(points, {}, three);
  EXPECT_EQ(a.two_nn.value(), b.two_nn.value());
  EXPECT_EQ(a.mle.value(), b.mle.value());
}

TEST(IntrinsicDimensionTest, IsUndefinedWithTooFewDistinctPoints) {
  ThreadPool pool(1);
  const IntrinsicDimension found = intrinsic_dimension(MatrixF::Ones(50, 3), {}, pool);
  EXPECT_FALSE(found.two_nn.has_value());
  EXPECT_FALSE(found.mle.has_value());
  EXPECT_EQ(found.points, 1);
  EXPECT_EQ(found.duplicates, 49);
}

TEST(IntrinsicDimensionTest, SaysWhatIsWrong) {
  ThreadPool pool(1);
  const auto message = [&](const MatrixF& points, std::int64_t neighbors) {
    IntrinsicDimensionOptions options;
    options.num_neighbors = neighbors;
    try {
      intrinsic_dimension(points, options, pool);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message(flat_square(50, 2, 3), 1), "k: must be >= 2, got 1");
  MatrixF broken = flat_square(50, 2, 3);
  broken(7, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(message(broken, 4).find("7"), std::string::npos);
}

}  // namespace
}  // namespace lime
