// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/path_curvature.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/errors.h"
#include "metrics/random_matrix.h"

namespace lime {
namespace {

TEST(PathCurvatureTest, StraightLineSquareAndReturn) {
  MatrixF line(5, 2);
  line << 0, 0, 1, 1, 3, 3, 4, 4, 9, 9;
  EXPECT_NEAR(path_curvature(line).degrees.value(), 0.0, 1e-5);  // arccos near 1
  MatrixF square(5, 2);
  square << 0, 0, 1, 0, 1, 1, 0, 1, 0, 0;
  EXPECT_NEAR(path_curvature(square).degrees.value(), 90.0, 1e-12);
  MatrixF back(3, 1);
  back << 0, 1, 0;
  EXPECT_NEAR(path_curvature(back).degrees.value(), 180.0, 1e-12);
}

TEST(PathCurvatureTest, IndependentTokensTurnBy120Degrees) {
  EXPECT_NEAR(path_curvature(testing::random_rows(600, 400, 3)).degrees.value(), 120.0, 0.5);
}

TEST(PathCurvatureTest, StepsWithoutLengthAreLeftOutAndCounted) {
  MatrixF rows(6, 2);
  rows << 0, 0, 1, 0, 1, 0, 1, 1, 1, 2, 1, 2;
  const PathCurvature found = path_curvature(rows);
  EXPECT_EQ(found.still_steps, 2);
  EXPECT_EQ(found.angles, 1);
  EXPECT_NEAR(found.degrees.value(), 0.0, 1e-5);
  EXPECT_FALSE(path_curvature(MatrixF::Ones(4, 2)).degrees.has_value());
  EXPECT_EQ(path_curvature(MatrixF::Ones(4, 2)).still_steps, 3);
  EXPECT_THROW(path_curvature(MatrixF::Ones(2, 2)), InvalidArgument);
}

}  // namespace
}  // namespace lime
