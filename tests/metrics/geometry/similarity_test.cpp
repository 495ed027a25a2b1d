// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/similarity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/errors.h"
#include "metrics/eigen_oracle.h"
#include "metrics/geometry/spectrum.h"
#include "metrics/random_matrix.h"

namespace lime {
namespace {

MatrixF random_cloud(Eigen::Index rows, Eigen::Index cols, std::uint64_t seed) {
  return testing::random_matrix(rows, cols, seed, 0.5).cast<float>();
}

RowSimilarity compare(const MatrixF& x, const MatrixF& y) {
  RowComparison comparison;
  return comparison.compare(comparable_rows(x), comparable_rows(y));
}

/// Invariant to rotation, scale and shift of one side.
TEST(SimilarityTest, SeesThroughRotationScaleAndShift) {
  const MatrixF x = random_cloud(120, 30, 1);
  const MatrixD rotation = testing::random_rotation(30, 2);
  const MatrixF turned = ((x.cast<double>() * rotation * 2.5).array() + 7.0).matrix().cast<float>();
  const RowSimilarity found = compare(x, turned);
  EXPECT_NEAR(found.cka, 1.0, 1e-6);  // the rotated rows are rounded to float
  EXPECT_NEAR(found.cka_debiased.value(), 1.0, 1e-6);
  EXPECT_NEAR(found.procrustes, 0.0, 1e-6);
}

TEST(SimilarityTest, UnrelatedRowsAreFarApart) {
  const RowSimilarity found = compare(random_cloud(400, 20, 1), random_cloud(400, 25, 2));
  EXPECT_GT(found.cka, 0.005);  // biased: about the effective dim over the number of rows
  EXPECT_NEAR(found.cka_debiased.value(), 0.0, 0.02);
  EXPECT_GT(found.procrustes, 1.2);
}

/// Two orthogonal centred columns: CKA and the distance are 0 and 2 exactly.
TEST(SimilarityTest, OrthogonalColumnsHaveNothingInCommon) {
  MatrixF x(4, 1);
  x << 1, 1, -1, -1;
  MatrixF y(4, 1);
  y << 1, -1, 1, -1;
  const RowSimilarity found = compare(x, y);
  EXPECT_EQ(found.cka, 0.0);
  EXPECT_EQ(found.procrustes, 2.0);
}

/// x = (a, b), y = a with |a| = |b| and a orthogonal to b: CKA = 1 / sqrt(2),
/// alignment 1 / sqrt(2).
TEST(SimilarityTest, HalfOfTheColumnsInClosedForm) {
  MatrixF x(4, 2);
  x << 1, 1, 1, -1, -1, 1, -1, -1;
  const RowSimilarity found = compare(x, x.leftCols(1));
  EXPECT_NEAR(found.cka, std::sqrt(0.5), 1e-14);
  EXPECT_NEAR(found.procrustes, 2.0 - std::sqrt(2.0), 1e-14);
}

TEST(SimilarityTest, SaysWhatIsWrong) {
  const auto message = [](const MatrixF& rows) {
    try {
      comparable_rows(rows);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message(MatrixF::Ones(3, 2)), "similarity: needs at least 4 rows, got 3");
  EXPECT_EQ(message(MatrixF::Constant(9, 2, 0.1F)),
            "similarity: all 9 rows are equal, so their similarity is undefined");
  MatrixF broken = random_cloud(9, 3, 1);
  broken(4, 2) = std::numeric_limits<float>::infinity();
  EXPECT_NE(message(broken).find("4"), std::string::npos);
  EXPECT_THROW(compare(random_cloud(9, 3, 1), random_cloud(8, 3, 1)), InvalidArgument);
}

}  // namespace
}  // namespace lime
