// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/token_profile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/errors.h"

namespace lime {
namespace {

TEST(TokenProfileTest, MeasuresNormsAndNeighbours) {
  MatrixF rows(4, 2);
  rows << 3, 4, 0, 1, 0, -2, 1, 1;
  const TokenProfile profile = token_profile(rows);
  EXPECT_EQ(profile.norm(0), 5.0);
  EXPECT_NEAR(profile.norm(3), std::sqrt(2.0), 1e-15);
  // The lower middle value of 1, sqrt 2, 2, 5.
  EXPECT_NEAR(profile.relative_norm(0), 5.0 / std::sqrt(2.0), 1e-15);
  ASSERT_EQ(profile.next_cosine.size(), 3);
  EXPECT_NEAR(profile.next_cosine(0), 0.8, 1e-15);
  EXPECT_EQ(profile.next_cosine(1), -1.0);
  EXPECT_NEAR(profile.next_cosine(2), -std::sqrt(0.5), 1e-15);
}

TEST(TokenProfileTest, ATokenOfLengthZeroHasCosineZero) {
  MatrixF rows = MatrixF::Zero(3, 2);
  rows(2, 0) = 1.0F;
  const TokenProfile profile = token_profile(rows);
  EXPECT_EQ(profile.next_cosine, VectorD::Zero(2));
  EXPECT_EQ(profile.relative_norm, VectorD::Zero(3)) << "the median is 0";
}

TEST(TokenProfileTest, RefusesNothingAndWhatIsNotFinite) {
  EXPECT_THROW(token_profile(MatrixF(0, 2)), InvalidArgument);
  EXPECT_THROW(token_profile(MatrixF::Constant(2, 2, std::nanf(""))), InvalidArgument);
}

}  // namespace
}  // namespace lime
