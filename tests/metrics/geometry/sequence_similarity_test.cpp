// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/sequence_similarity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/errors.h"
#include "metrics/random_matrix.h"

namespace lime {
namespace {

TEST(DirectionSumTest, EqualsTheMeanOverAllPairs) {
  MatrixF rows = testing::random_rows(23, 9, 1);
  rows.row(4).setZero();
  DirectionSum sum;
  sum.add(rows.topRows(10));
  DirectionSum rest;
  rest.add(rows.bottomRows(13));
  sum.merge(rest);
  EXPECT_EQ(sum.zeros, 1);
  EXPECT_EQ(sum.count, 22);
  double cosines = 0.0;
  const MatrixD x = rows.cast<double>();
  for (Eigen::Index i = 0; i < 23; ++i) {
    for (Eigen::Index j = 0; j < 23; ++j) {
      if (i == j || i == 4 || j == 4) continue;
      cosines += x.row(i).dot(x.row(j)) / (x.row(i).norm() * x.row(j).norm());
    }
  }
  EXPECT_NEAR(sum.mean_cosine().value(), cosines / (22.0 * 21.0), 1e-13);
}

TEST(DirectionSumTest, IsOneForOneDirectionAndMinusOneForTwoOpposite) {
  MatrixF rows(2, 3);
  rows << 1, 2, 3, 2, 4, 6;
  DirectionSum same;
  same.add(rows);
  EXPECT_NEAR(same.mean_cosine().value(), 1.0, 1e-14);
  rows.row(1) *= -1.0F;
  DirectionSum opposite;
  opposite.add(rows);
  EXPECT_NEAR(opposite.mean_cosine().value(), -1.0, 1e-14);
  DirectionSum zero;
  zero.add(MatrixF::Zero(3, 3));
  EXPECT_FALSE(zero.mean_cosine().has_value());
}

TEST(SequenceSimilarityTest, EqualTokensLeaveNoResidual) {
  const MatrixF rows = MatrixF::Constant(8, 5, 3.0F);
  const SequenceSimilarity found = sequence_similarity(rows);
  EXPECT_NEAR(found.mean_token_similarity.value(), 1.0, 1e-14);
  EXPECT_NEAR(found.mean_cosine.value(), 1.0, 1e-14);
  EXPECT_EQ(found.rank_one_residual.value(), 0.0);
  EXPECT_EQ(found.rank_one_residual_1inf.value(), 0.0);
}

/// Orthonormal tokens: m = 1/n 1, |X - 1 m^T|^2 = n - 1; every row sum and column sum is known.
TEST(SequenceSimilarityTest, OrthonormalTokensInClosedForm) {
  constexpr double kTokens = 6.0;
  const SequenceSimilarity found = sequence_similarity(MatrixF::Identity(6, 6));
  EXPECT_NEAR(found.rank_one_residual.value(), std::sqrt((kTokens - 1.0) / kTokens), 1e-14);
  EXPECT_NEAR(found.rank_one_residual_1inf.value(), 2.0 * (kTokens - 1.0) / kTokens, 1e-14);
  EXPECT_NEAR(found.mean_token_similarity.value(), 1.0 / std::sqrt(kTokens), 1e-14);
  EXPECT_NEAR(found.mean_cosine.value(), 0.0, 1e-14);
}

TEST(SequenceSimilarityTest, ZeroTokensHaveNoDirection) {
  const SequenceSimilarity found = sequence_similarity(MatrixF::Zero(4, 3));
  EXPECT_FALSE(found.mean_token_similarity.has_value());
  EXPECT_FALSE(found.rank_one_residual.has_value());
  EXPECT_FALSE(found.mean_cosine.has_value());
  EXPECT_EQ(found.directions.zeros, 4);
  EXPECT_THROW(sequence_similarity(MatrixF::Ones(1, 3)), InvalidArgument);
}

}  // namespace
}  // namespace lime
