// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/massive_activations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/errors.h"
#include "metrics/random_matrix.h"

namespace lime {
namespace {

TEST(MassiveActivationsTest, CountsElementsAndTokensAboveBothLimits) {
  MatrixF rows = MatrixF::Constant(10, 20, 0.1F);
  rows(2, 3) = -150.0F;
  rows(2, 4) = 101.0F;
  rows(7, 0) = 100.0F;  // not above the threshold
  rows(8, 0) = 99.0F;
  const MassiveActivations found = massive_activations(rows);
  EXPECT_EQ(found.num_massive, 2);
  EXPECT_DOUBLE_EQ(found.share, 2.0 / 200.0);
  EXPECT_DOUBLE_EQ(found.token_share, 0.1);
  EXPECT_EQ(found.largest, 150.0);
  EXPECT_NEAR(found.largest_ratio, 1500.0, 1e-3);
  rows.array() += 1.0F;  // now the median is 1.1 and nothing is 1000 times that
  EXPECT_EQ(massive_activations(rows).num_massive, 0);
}

TEST(MassiveActivationsTest, MedianIsTheLowerMiddleOfTheMagnitudes) {
  for (const Eigen::Index cols : {1, 3, 4, 7, 50}) {
    const MatrixF rows = testing::random_rows(11, cols, 5);
    std::vector<float> magnitudes(rows.data(), rows.data() + rows.size());
    for (float& value : magnitudes) value = std::abs(value);
    std::sort(magnitudes.begin(), magnitudes.end());
    EXPECT_EQ(median_magnitude(rows), magnitudes[(magnitudes.size() - 1) / 2]) << cols;
  }
  const MassiveActivations zero = massive_activations(MatrixF::Zero(2, 2));
  EXPECT_EQ(zero.num_massive, 0);
  EXPECT_EQ(zero.largest_ratio, std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace lime
