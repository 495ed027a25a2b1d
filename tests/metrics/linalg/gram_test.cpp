// SPDX-License-Identifier: Apache-2.0
#include "metrics/linalg/gram.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "metrics/random_matrix.h"

namespace lime::linalg {
namespace {

using lime::testing::random_matrix;

AffineRows<double> view(const MatrixD& z) {
  return {.x = z.data(), .num_rows = z.rows(), .num_cols = z.cols(), .row_stride = z.cols()};
}

/// Naive oracle.
MatrixD naive_smaller_gram(const MatrixD& z) {
  return z.rows() <= z.cols() ? MatrixD(z * z.transpose()) : MatrixD(z.transpose() * z);
}

MatrixD dense(const SymmetricPanels& matrix) {
  MatrixD result(matrix.size(), matrix.size());
  for (Eigen::Index r = 0; r < matrix.size(); ++r) {
    for (Eigen::Index c = 0; c <= r; ++c) result(r, c) = result(c, r) = matrix.at(r, c);
  }
  return result;
}

struct Shape {
  Eigen::Index rows;
  Eigen::Index cols;
};

TEST(GramTest, EqualsTheNaiveProductForEveryShape) {
  GramBuilder builder;
  SymmetricPanels gram;
  // Below, at and above the sizes of panels, blocks and slabs.
  for (const Shape shape :
       {Shape{1, 1}, {2, 5}, {5, 2}, {24, 24}, {25, 300}, {256, 257}, {300, 49}, {210, 600}}) {
    const MatrixD z = random_matrix(shape.rows, shape.cols, 1);
    builder.smaller_gram(view(z), gram);
    const MatrixD expected = naive_smaller_gram(z);
    // Sums of up to 600 products, in another order.
    EXPECT_LT((dense(gram) - expected).norm(), 1e-13 * expected.norm())
        << shape.rows << " x " << shape.cols;
  }
}

TEST(GramTest, StoresBlocksOnTheDiagonalWholeAndZerosBehindTheEnd) {
  GramBuilder builder;
  SymmetricPanels gram;
  for (const Shape shape : {Shape{70, 25}, {300, 50}, {33, 90}}) {
    const MatrixD z = random_matrix(shape.rows, shape.cols, 7);
    builder.smaller_gram(view(z), gram);
    const MatrixD expected = naive_smaller_gram(z);
    for (Eigen::Index r = 0; r < gram.padded_size(); ++r) {
      for (Eigen::Index c = 0; c < kPanelRows<double> * (r / kPanelRows<double> + 1); ++c) {
        const bool inside = r < gram.size() && c < gram.size();
        EXPECT_NEAR(gram.at(r, c), inside ? expected(r, c) : 0.0, 1e-13 * z.squaredNorm())
            << r << ", " << c << " of " << gram.size();
      }
    }
  }
}

TEST(GramTest, AppliesShiftAndScalesWhileReading) {
  const MatrixD x = random_matrix(40, 30, 2);
  const VectorD shift = random_matrix(30, 1, 3);
  const VectorD column_scale = random_matrix(30, 1, 4);
  const VectorD row_scale = random_matrix(40, 1, 5);
  const MatrixD z =
      row_scale.asDiagonal() * MatrixD(x.rowwise() - shift.transpose()) * column_scale.asDiagonal();
  for (const bool transposed : {false, true}) {
    AffineRows<double> rows = view(x);
    rows.shift = shift.data();
    rows.column_scale = column_scale.data();
    rows.row_scale = row_scale.data();
    if (transposed) rows.num_rows = 20;
    const MatrixD used = transposed ? MatrixD(z.topRows(20)) : z;
    GramBuilder builder;
    SymmetricPanels gram;
    builder.smaller_gram(rows, gram);
    EXPECT_LT((dense(gram) - naive_smaller_gram(used)).norm(), 1e-13 * used.squaredNorm());
  }
}

TEST(GramTest, ReadsFloatRowsWithAStride) {
  const MatrixF x = random_matrix(30, 50, 6).cast<float>();
  const AffineRows<float> rows{
      .x = x.data() + 3, .num_rows = 30, .num_cols = 20, .row_stride = x.cols()};
  GramBuilder builder;
  SymmetricPanels gram;
  builder.smaller_gram(rows, gram);
  const MatrixD z = x.block(0, 3, 30, 20).cast<double>();
  EXPECT_LT((dense(gram) - naive_smaller_gram(z)).norm(), 1e-13 * z.squaredNorm());
}

TEST(GramTest, SquaresAndTakesInnerProducts) {
  const MatrixD z = random_matrix(80, 100, 7);
  GramBuilder builder;
  SymmetricPanels gram;
  SymmetricPanels squared;
  builder.smaller_gram(view(z), gram);
  builder.square(gram, squared);
  const MatrixD k = naive_smaller_gram(z);
  EXPECT_LT((dense(squared) - k * k).norm(), 1e-13 * (k * k).norm());
  EXPECT_NEAR(trace(gram), k.trace(), 1e-12 * k.trace());
  EXPECT_NEAR(inner_product(gram, gram), k.squaredNorm(), 1e-12 * k.squaredNorm());
  EXPECT_NEAR(inner_product(gram, squared), (k * k * k).trace(), 1e-12 * (k * k * k).trace());
}

TEST(GramTest, ClampsElements) {
  const MatrixD z = random_matrix(30, 30, 8);
  GramBuilder builder;
  SymmetricPanels gram;
  builder.smaller_gram(view(z), gram);
  clamp_elements(gram);
  EXPECT_LT((dense(gram) - naive_smaller_gram(z).cwiseMax(0.0)).norm(), 1e-12);
}

TEST(GramTest, AddsPiecesInMemoryThatHeldSomethingElse) {
  SymmetricPanels gram;
  gram.resize(48);
  std::fill(gram.panel(0), gram.panel(gram.num_panels()), 1e3);
  gram.resize(6);
  gram.values().setZero();
  const MatrixD z = random_matrix(16, 6, 3).cast<double>();
  GramBuilder builder;
  builder.add_feature_gram(view(z.topRows(7)), gram);
  builder.add_feature_gram(view(z.bottomRows(9)), gram);
  EXPECT_LT((dense(gram) - z.transpose() * z).cwiseAbs().maxCoeff(), 1e-12);
  for (std::int64_t row = 0; row < kPanelRows<double>; ++row) {
    for (std::int64_t col = 0; col < kPanelRows<double>; ++col) {
      if (row < 6 && col < 6) continue;
      EXPECT_EQ(gram.at(row, col), 0.0) << row << " " << col;
    }
  }
}

TEST(GramTest, ReusesItsMemoryWithoutATrace) {
  GramBuilder builder;
  SymmetricPanels reused;
  builder.smaller_gram(view(random_matrix(300, 310, 9)), reused);
  const MatrixD z = random_matrix(31, 70, 10);
  builder.smaller_gram(view(z), reused);
  SymmetricPanels fresh;
  GramBuilder().smaller_gram(view(z), fresh);
  EXPECT_EQ(dense(reused), dense(fresh));
}

}  // namespace
}  // namespace lime::linalg
