// SPDX-License-Identifier: Apache-2.0
#include "metrics/linalg/symmetric_eigenvalues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/errors.h"
#include "metrics/eigen_oracle.h"
#include "metrics/random_matrix.h"

namespace lime::linalg {
namespace {

using lime::testing::random_matrix;

SymmetricPanels packed_of(const MatrixD& matrix) {
  SymmetricPanels result;
  result.resize(matrix.rows());
  std::fill(result.panel(0), result.panel(result.num_panels()), 0.0);
  for (Eigen::Index r = 0; r < matrix.rows(); ++r) {
    const Eigen::Index end = kPanelRows<double> * (r / kPanelRows<double> + 1);
    for (Eigen::Index c = 0; c < std::min(end, matrix.rows()); ++c) result.at(r, c) = matrix(r, c);
  }
  return result;
}

VectorD eigenvalues_of(const MatrixD& matrix) {
  SymmetricPanels packed = packed_of(matrix);
  SymmetricEigenvalues solver;
  const std::span<const double> values = solver.compute(packed);
  return Eigen::Map<const VectorD>(values.data(), static_cast<Eigen::Index>(values.size()));
}

MatrixD random_symmetric(Eigen::Index size, std::uint64_t seed) {
  const MatrixD matrix = random_matrix(size, size, seed);
  return matrix + matrix.transpose();
}

/// Returns an orthogonal matrix times diag(values) times its transpose.
MatrixD with_spectrum(const VectorD& values, std::uint64_t seed) {
  const MatrixD q = lime::testing::random_rotation(values.size(), seed);
  const MatrixD matrix = q * values.asDiagonal() * q.transpose();
  return 0.5 * (matrix + matrix.transpose());
}

/// Bound from backward stability: errors below a few n eps times the largest eigenvalue.
double tolerance(const VectorD& values) {
  return 2e-15 * static_cast<double>(values.size()) * values.cwiseAbs().maxCoeff();
}

TEST(SymmetricEigenvaluesTest, EqualsEigenForEverySize) {
  // Below, at and above the bandwidth and the sizes of panels.
  for (const Eigen::Index size : {1, 2, 3, 5, 24, 25, 47, 48, 49, 50, 72, 73, 96, 97, 145, 300}) {
    const MatrixD matrix = random_symmetric(size, static_cast<std::uint64_t>(size));
    const VectorD expected = lime::testing::eigenvalues_by_eigen(matrix);
    EXPECT_LT((eigenvalues_of(matrix) - expected).cwiseAbs().maxCoeff(), tolerance(expected))
        << size;
  }
}

TEST(SymmetricEigenvaluesTest, FindsAKnownSpectrumWithMultipleValues) {
  VectorD values(200);
  for (Eigen::Index i = 0; i < 200; ++i) values[i] = std::floor(static_cast<double>(i) / 7.0);
  EXPECT_LT((eigenvalues_of(with_spectrum(values, 1)) - values).cwiseAbs().maxCoeff(),
            tolerance(values));
}

TEST(SymmetricEigenvaluesTest, FindsAGradedSpectrum) {
  VectorD values(150);
  for (Eigen::Index i = 0; i < 150; ++i) {
    values[i] = std::pow(10.0, static_cast<double>(i) / 10.0 - 14.0);
  }
  EXPECT_LT((eigenvalues_of(with_spectrum(values, 2)) - values).cwiseAbs().maxCoeff(),
            tolerance(values));
}

TEST(SymmetricEigenvaluesTest, HandlesDiagonalZeroAndRankOneMatrices) {
  EXPECT_EQ(eigenvalues_of(MatrixD::Zero(130, 130)), VectorD::Zero(130));
  EXPECT_EQ(eigenvalues_of(MatrixD::Identity(130, 130)), VectorD::Ones(130));
  const VectorD ones = eigenvalues_of(MatrixD::Ones(130, 130));
  EXPECT_NEAR(ones[129], 130.0, 1e-11);
  EXPECT_LT(ones.head(129).cwiseAbs().maxCoeff(), 1e-11);
}

TEST(SymmetricEigenvaluesTest, KeepsItsAccuracyForTinyAndHugeElements) {
  const MatrixD matrix = random_symmetric(120, 3);
  const VectorD expected = eigenvalues_of(matrix);
  for (const double scale : {1e-200, 1e200}) {
    const VectorD scaled = eigenvalues_of(scale * matrix) / scale;
    EXPECT_LT((scaled - expected).cwiseAbs().maxCoeff(), tolerance(expected)) << scale;
  }
}

TEST(SymmetricEigenvaluesTest, GivesTheSameBitsInReusedMemory) {
  SymmetricEigenvalues solver;
  SymmetricPanels large = packed_of(random_symmetric(250, 4));
  solver.compute(large);
  const MatrixD matrix = random_symmetric(101, 5);
  SymmetricPanels small = packed_of(matrix);
  const std::span<const double> values = solver.compute(small);
  EXPECT_EQ(eigenvalues_of(matrix), Eigen::Map<const VectorD>(values.data(), 101));
}

TEST(SymmetricEigenvaluesTest, RefusesWhatIsNotFinite) {
  MatrixD matrix = random_symmetric(60, 6);
  matrix(30, 2) = matrix(2, 30) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(eigenvalues_of(matrix), NumericalError);
}

}  // namespace
}  // namespace lime::linalg
