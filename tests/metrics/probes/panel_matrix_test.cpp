// SPDX-License-Identifier: Apache-2.0
#include "metrics/probes/panel_matrix.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/threads/thread_pool.h"
#include "metrics/probes/preconditioner.h"
#include "metrics/random_matrix.h"

namespace lime::probes {
namespace {

template <typename Scalar> Columns<Scalar> columns_of(const MatrixD& values, std::int64_t length) {
  Columns<Scalar> columns;
  columns.resize(values.rows(), length);
  for (Eigen::Index k = 0; k < values.rows(); ++k) {
    columns.array(k).head(values.cols()) = values.row(k).transpose().array().cast<Scalar>();
  }
  return columns;
}

MatrixD matrix_of(const Columns<double>& columns, Eigen::Index length) {
  MatrixD values(columns.count(), length);
  for (Eigen::Index k = 0; k < values.rows(); ++k) {
    values.row(k) = columns.array(k).head(length).matrix().transpose();
  }
  return values;
}

/// Sizes around the edges of chunks, strips and tiles.
class PanelMatrixTest : public ::testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(PanelMatrixTest, ProductsEqualThoseOfTheWholeMatrix) {
  const auto [num_rows, dim, count] = GetParam();
  const MatrixF rows = testing::random_matrix(num_rows, dim, 1).cast<float>();
  const MatrixD x = rows.cast<double>();
  ThreadPool pool(2);
  PanelMatrix panel;
  panel.pack(rows, {}, pool);

  const MatrixD u = testing::random_matrix(count, dim, 2).cast<float>().cast<double>();
  const MatrixD r = testing::random_matrix(count, num_rows, 3).cast<float>().cast<double>();
  Columns<double> out;
  panel.multiply(columns_of<double>(u, panel.padded_cols()), out, pool);
  EXPECT_LE((matrix_of(out, num_rows) - u * x.transpose()).norm(), 1e-13 * u.norm() * x.norm());
  panel.multiply(columns_of<float>(u, panel.padded_cols()), out, pool);
  EXPECT_LE((matrix_of(out, num_rows) - u * x.transpose()).norm(), 1e-6 * u.norm() * x.norm());
  panel.multiply_transposed(columns_of<double>(r, panel.padded_rows()), out, pool);
  EXPECT_LE((matrix_of(out, dim) - r * x).norm(), 1e-13 * r.norm() * x.norm());
  panel.multiply_transposed(columns_of<float>(r, panel.padded_rows()), out, pool);
  EXPECT_LE((matrix_of(out, dim) - r * x).norm(), 1e-6 * r.norm() * x.norm());
  panel.multiply_transposed<true>(columns_of<double>(r, panel.padded_rows()), out, pool);
  const MatrixD squares = x.cwiseAbs2();
  EXPECT_LE((matrix_of(out, dim) - r * squares).norm(), 1e-13 * r.norm() * squares.norm());

  MatrixF gram = MatrixF::Zero(dim, dim);
  panel.gram(gram, pool);
  const MatrixD expected = x.transpose() * x;
  for (Eigen::Index i = 0; i < dim; ++i) {
    EXPECT_LE((gram.row(i).head(i + 1).cast<double>() - expected.row(i).head(i + 1)).norm(),
              1e-5 * static_cast<double>(num_rows) + 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PanelMatrixTest,
                         ::testing::Values(std::make_tuple(1, 1, 1), std::make_tuple(3, 5, 2),
                                           std::make_tuple(128, 48, 8), std::make_tuple(129, 49, 9),
                                           std::make_tuple(300, 200, 20)));

TEST(PanelMatrixShiftTest, IsSubtracted) {
  MatrixF rows(2, 3);
  rows << 1, 2, 3, 4, 5, 6;
  ThreadPool pool(1);
  PanelMatrix panel;
  panel.pack(rows, std::vector<float>{1, 0, 3}, pool);
  Columns<double> out;
  panel.multiply(columns_of<double>(MatrixD::Identity(3, 3), panel.padded_cols()), out, pool);
  MatrixD expected(3, 2);
  expected << 0, 3, 2, 5, 0, 3;
  EXPECT_EQ(matrix_of(out, 2), expected);
}

TEST(SpdInverseTest, TimesTheMatrixIsTheIdentity) {
  ThreadPool pool(2);
  for (const Eigen::Index size : {1, 7, 128, 129, 300}) {
    const MatrixD rows = testing::random_matrix(size + 20, size, 4);
    const MatrixD matrix = rows.transpose() * rows + MatrixD::Identity(size, size);
    MatrixD inverse = matrix;
    inverse.template triangularView<Eigen::StrictlyUpper>().setConstant(-1e9);  // never read
    ASSERT_TRUE(invert_positive_definite(inverse, pool));
    EXPECT_LE((inverse * matrix - MatrixD::Identity(size, size)).norm(), 1e-9) << size;
    EXPECT_EQ(inverse, MatrixD(inverse.transpose()));
  }
}

TEST(SpdInverseTest, SaysThatAMatrixIsIndefinite) {
  ThreadPool pool(1);
  MatrixD matrix = MatrixD::Identity(200, 200);
  matrix(150, 150) = -1.0;
  EXPECT_FALSE(invert_positive_definite(matrix, pool));
}

}  // namespace
}  // namespace lime::probes
