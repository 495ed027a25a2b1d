// SPDX-License-Identifier: Apache-2.0
#include "core/running_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "core/random.h"

namespace lime {
namespace {

MatrixF random_rows(Eigen::Index rows, Eigen::Index dim, double offset, std::uint64_t seed) {
  Random random(seed);
  MatrixF matrix(rows, dim);
  for (float& x : matrix.reshaped()) x = static_cast<float>(offset + random.normal());
  return matrix;
}

double largest_difference(const VectorD& a, const VectorD& b) {
  double largest = 0.0;
  for (Eigen::Index j = 0; j < a.size(); ++j) largest = std::max(largest, std::abs(a[j] - b[j]));
  return largest;
}

TEST(RunningStatisticsTest, EqualsTheTwoPassFormula) {
  const MatrixF rows = random_rows(1000, 6, 300.0, 1);
  RunningStatistics statistics;
  statistics.add(rows.topRows(1));
  statistics.add(rows.middleRows(1, 400));
  statistics.add(rows.bottomRows(599));
  VectorD mean = VectorD::Zero(6);
  VectorD m2 = VectorD::Zero(6);
  for (const auto& row : rows.rowwise()) mean += row.transpose().cast<double>() / 1000.0;
  for (const auto& row : rows.rowwise()) {
    m2 += (row.transpose().cast<double>() - mean).cwiseAbs2();
  }
  EXPECT_EQ(statistics.count, 1000);
  // Two summation orders of 1000 doubles agree to about 1000 * 1e-16, relative.
  EXPECT_LT(largest_difference(statistics.mean, mean), 300.0 * 1e-13);
  EXPECT_LT(largest_difference(statistics.m2, m2), 1000.0 * 1e-12);
}

TEST(RunningStatisticsTest, MergesLikeOneStream) {
  const MatrixF rows = random_rows(500, 4, -2.0, 2);
  RunningStatistics whole;
  whole.add(rows);
  RunningStatistics merged;
  for (Eigen::Index first = 0; first < 500; first += 100) {
    RunningStatistics part;
    part.add(rows.middleRows(first, 100));
    merged.merge(part);
  }
  merged.merge(RunningStatistics{});
  EXPECT_EQ(merged.count, whole.count);
  EXPECT_LT(largest_difference(merged.mean, whole.mean), 1e-13);
  EXPECT_LT(largest_difference(merged.m2, whole.m2), 1e-9);
}

TEST(RunningStatisticsTest, RootMeanSquareIsPerHead) {
  MatrixF rows(2, 4);
  rows << 3.0F, 4.0F, 1.0F, 1.0F, 3.0F, 4.0F, -1.0F, 1.0F;
  RunningStatistics statistics;
  statistics.add(rows);
  const VectorD rms = statistics.rms_per_head(2);
  EXPECT_NEAR(rms[0], std::sqrt(12.5), 1e-14);
  EXPECT_NEAR(rms[1], 1.0, 1e-14);
  EXPECT_THROW(statistics.rms_per_head(3), InvalidArgument);
}

TEST(RunningStatisticsTest, RefusesOtherDimensions) {
  RunningStatistics statistics;
  statistics.add(random_rows(3, 4, 0.0, 3));
  EXPECT_THROW(statistics.add(random_rows(3, 5, 0.0, 3)), InvalidArgument);
}

}  // namespace
}  // namespace lime
