// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/errors.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/random_matrix.h"
#include "support/statistics.h"

namespace lime {
namespace {

using ::testing::StrEq;
using ::testing::ThrowsMessage;

TEST(StandardizeTest, UsesTheUnbiasedDeviationPlusEpsilon) {
  MatrixF rows(3, 2);
  rows << 1.0F, 5.0F, 2.0F, 5.0F, 6.0F, 5.0F;
  const Standardization standardization = make_standardization(testing::statistics_of(rows));
  EXPECT_DOUBLE_EQ(standardization.mean[0], 3.0);
  EXPECT_DOUBLE_EQ(standardization.divisor[0], std::sqrt(14.0 / 2.0) + 1e-5);
  EXPECT_DOUBLE_EQ(standardization.divisor[1], 1e-5);
  const MatrixD z = standardize(rows, standardization);
  EXPECT_DOUBLE_EQ(z(2, 0), 3.0 / (std::sqrt(7.0) + 1e-5));
  EXPECT_DOUBLE_EQ(z(2, 1), 0.0);
}

TEST(StandardizeTest, GivesMeanZeroAndDeviationOne) {
  const MatrixF rows = testing::random_matrix(500, 7, 1, 1.0).cast<float>();
  const MatrixD z = standardize(rows, make_standardization(testing::statistics_of(rows)));
  EXPECT_LT(z.colwise().mean().cwiseAbs().maxCoeff(), 1e-12);
  const auto variance = z.colwise().squaredNorm() / 499.0;
  // The epsilon reduces the deviation of the smallest dimension, 1 / 7, by the factor 1e-5 / (1 /
  // 7).
  EXPECT_LT((variance.array() - 1.0).abs().maxCoeff(), 3e-4);
}

TEST(StandardizeTest, RefusesUnfitStatistics) {
  EXPECT_THAT(
      [] {
        make_standardization({1, VectorD::Zero(3), VectorD::Ones(3)});
      },
      ThrowsMessage<InvalidArgument>(
          StrEq("standardize: the statistics must come from at least 2 rows, got 1")));
  EXPECT_THAT(
      [] {
        make_standardization({9, VectorD::Zero(3), VectorD::Ones(2)});
      },
      ThrowsMessage<InvalidArgument>(
          StrEq("standardize: mean and m2 must have the same size, got 3 and 2")));
  EXPECT_THAT(
      [] {
        make_standardization({9, VectorD::Zero(2), VectorD::Ones(2)}, 0.0);
      },
      ThrowsMessage<InvalidArgument>(StrEq("standardize: epsilon must be > 0, got 0")));
  VectorD mean = VectorD::Zero(2);
  mean[1] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(
      [&] {
        make_standardization({9, mean, VectorD::Ones(2)});
      },
      ThrowsMessage<InvalidArgument>(
          StrEq("standardize: mean must be finite and m2 >= 0 and finite, got nan and 1 at "
                "dimension 1; the data set contains NaN or infinity")));
  EXPECT_THAT(
      [] {
        standardize(MatrixF::Ones(2, 3), {VectorD::Zero(2), VectorD::Ones(2)});
      },
      ThrowsMessage<InvalidArgument>(
          StrEq("standardize: the rows have 3 dimensions, but the statistics have 2")));
}

}  // namespace
}  // namespace lime
