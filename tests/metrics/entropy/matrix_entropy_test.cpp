// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/matrix_entropy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/errors.h"
#include "metrics/eigen_oracle.h"
#include "metrics/random_matrix.h"

namespace lime {
namespace {

using lime::testing::eigenvalues_by_eigen;
using lime::testing::random_matrix;
using lime::testing::random_rotation;
using lime::testing::singular_values_by_eigen;
using ::testing::StrEq;
using ::testing::ThrowsMessage;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::vector<double> kOrders = {0.3, 0.5, 0.99, 1.0, 1.5, 2.0, 3.0, 3.5, 4.0, kInfinity};

/// Naive oracle: all eigenvalues of Z Z^T by Eigen, the definition term by term.
double naive_entropy(const MatrixD& z, double alpha) {
  const MatrixD gram =
      z.rows() <= z.cols() ? MatrixD(z * z.transpose()) : MatrixD(z.transpose() * z);
  const VectorD p = eigenvalues_by_eigen(gram) / gram.trace();
  if (std::isinf(alpha)) return -std::log(p.maxCoeff());
  double sum = 0.0;
  for (const double value : p) {
    if (value <= 0.0) continue;
    sum += alpha == 1.0 ? -value * std::log(value) : std::pow(value, alpha);
  }
  return alpha == 1.0 ? sum : std::log(sum) / (1.0 - alpha);
}

TEST(MatrixRenyiEntropyTest, IsLogOfTheNumberOfOrthonormalTokens) {
  const MatrixF tokens = MatrixF::Identity(4, 16);
  for (const double alpha : kOrders) {
    EXPECT_NEAR(matrix_renyi_entropy(tokens, alpha), std::log(4.0), 1e-14) << "alpha=" << alpha;
  }
}

TEST(MatrixRenyiEntropyTest, IsZeroWhenAllTokensAreEqual) {
  const MatrixD tokens = VectorD::Ones(40) * random_matrix(1, 90, 1);
  for (const double alpha : {1.0, 1.5, 2.0, 3.0, kInfinity}) {
    EXPECT_NEAR(matrix_renyi_entropy(tokens, alpha), 0.0, 1e-12) << "alpha=" << alpha;
  }
  // Eigenvalues that should be 0 are about 1e-16 of the trace; 40 square roots of that.
  EXPECT_NEAR(matrix_renyi_entropy(tokens, 0.5), 0.0, 1e-6);
  const MatrixF few = MatrixF::Ones(3, 5);
  EXPECT_NEAR(matrix_renyi_entropy(few, 0.5), 0.0, 1e-6);
}

TEST(MatrixRenyiEntropyTest, EqualsTheDefinitionForEveryOrderAndShape) {
  for (const auto& [rows, cols] : {std::pair{7, 20}, {20, 7}, {64, 64}, {130, 100}, {100, 260}}) {
    const MatrixD z = random_matrix(rows, cols, 2, 0.8);
    for (const double alpha : kOrders) {
      EXPECT_NEAR(matrix_renyi_entropy(z, alpha), naive_entropy(z, alpha), 1e-11)
          << rows << " x " << cols << ", alpha=" << alpha;
    }
  }
}

TEST(MatrixRenyiEntropyTest, IsTheNuclearNormAtOneHalf) {
  const MatrixD z = random_matrix(60, 45, 3, 0.5);
  const VectorD sigma = singular_values_by_eigen(z);
  const double expected = 2.0 * std::log(sigma.sum()) - std::log(sigma.squaredNorm());
  EXPECT_NEAR(matrix_renyi_entropy(z, 0.5), expected, 1e-12);
}

TEST(MatrixRenyiEntropyTest, DoesNotChangeWithRotationScaleOrOrderOfTokens) {
  const MatrixD z = random_matrix(40, 70, 4, 0.7);
  const MatrixD rotation = random_rotation(70, 5);
  const MatrixD rotated = z * rotation;
  const MatrixD scaled = 1e-3 * z;
  const MatrixD reversed = z.colwise().reverse();
  for (const double alpha : kOrders) {
    const double entropy = matrix_renyi_entropy(z, alpha);
    EXPECT_NEAR(matrix_renyi_entropy(rotated, alpha), entropy, 1e-12) << "alpha=" << alpha;
    EXPECT_NEAR(matrix_renyi_entropy(scaled, alpha), entropy, 1e-12) << "alpha=" << alpha;
    EXPECT_NEAR(matrix_renyi_entropy(reversed, alpha), entropy, 1e-12) << "alpha=" << alpha;
  }
}

TEST(MatrixRenyiEntropyTest, IsTheSameFromBothSides) {
  const MatrixD z = random_matrix(30, 80, 6, 0.7);
  const MatrixD transposed = z.transpose();
  for (const double alpha : kOrders) {
    EXPECT_NEAR(matrix_renyi_entropy(z, alpha), matrix_renyi_entropy(transposed, alpha), 1e-13);
  }
}

TEST(MatrixRenyiEntropyTest, IsContinuousAtOne) {
  const MatrixD z = random_matrix(50, 50, 7, 0.7);
  const double shannon = matrix_renyi_entropy(z, 1.0);
  // The slope in alpha is minus half the variance of log p, a few units here.
  for (const double step : {1e-2, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12}) {
    EXPECT_NEAR(matrix_renyi_entropy(z, 1.0 + step), shannon, 3.0 * step + 1e-14) << step;
    EXPECT_NEAR(matrix_renyi_entropy(z, 1.0 - step), shannon, 3.0 * step + 1e-14) << step;
  }
}

TEST(MatrixRenyiEntropyTest, DecreasesWithTheOrderToTheMinEntropy) {
  const MatrixD z = random_matrix(50, 50, 8, 0.7);
  double last = std::log(50.0);
  for (const double alpha : {1e-6, 0.1, 0.5, 0.999, 1.0, 1.001, 2.0, 3.0, 4.0, 10.0, 1e4}) {
    const double entropy = matrix_renyi_entropy(z, alpha);
    EXPECT_LT(entropy, last) << "alpha=" << alpha;
    last = entropy;
  }
  EXPECT_NEAR(last, matrix_renyi_entropy(z, kInfinity), 1e-3);
}

TEST(MatrixRenyiEntropyTest, TakesFloatRowsAndBlocksOfAMatrix) {
  const MatrixF rows = random_matrix(40, 30, 9).cast<float>();
  const MatrixD wide = rows.cast<double>();
  EXPECT_EQ(matrix_renyi_entropy(rows, 0.5), matrix_renyi_entropy(wide, 0.5));
  const MatrixF block = rows.block(5, 3, 20, 10);
  EXPECT_EQ(matrix_renyi_entropy(rows.block(5, 3, 20, 10), 0.5), matrix_renyi_entropy(block, 0.5));
}

TEST(MatrixRenyiEntropyTest, RefusesUnfitRepresentations) {
  const auto message = [](const MatrixF& z, const std::string& text) {
    EXPECT_THAT([&] { matrix_renyi_entropy(z, 0.5); }, ThrowsMessage<InvalidArgument>(StrEq(text)));
  };
  message(MatrixF(0, 4), "entropy: needs at least one token and one dimension, got 0 x 4");
  message(MatrixF::Zero(3, 4), "entropy: representations must not all be zero, got 3 x 4 zeros");
  MatrixF bad = MatrixF::Ones(3, 4);
  bad(2, 1) = std::numeric_limits<float>::quiet_NaN();
  bad(2, 3) = std::numeric_limits<float>::infinity();
  message(bad,
          "entropy: representations must be finite, got nan at token 2, dimension 1; check the "
          "model for overflow, or capture in a wider type");
  bad(1, 3) = -std::numeric_limits<float>::infinity();
  message(bad,
          "entropy: representations must be finite, got -inf at token 1, dimension 3; check the "
          "model for overflow, or capture in a wider type");
  const MatrixD huge = MatrixD::Constant(3, 4, 1e200);
  EXPECT_THAT([&] { matrix_renyi_entropy(huge, 0.5); },
              ThrowsMessage<NumericalError>(StrEq("entropy: the sum of the squared representations "
                                                  "must be finite, got inf")));
}

TEST(MatrixRenyiEntropyTest, RefusesOrdersThatAreNotPositive) {
  for (const double alpha : {0.0, -1.0, -kInfinity}) {
    EXPECT_THROW(matrix_renyi_entropy(MatrixF::Identity(3, 3).eval(), alpha), InvalidArgument);
  }
  EXPECT_THAT(
      [] { check_entropy_order(0.0); },
      ThrowsMessage<InvalidArgument>(StrEq("alpha: must be > 0 (1 and inf are allowed), got 0")));
}

TEST(EntropyOfSpectrumTest, CountsNegativeEigenvaluesAsZeroAndKeepsTheTrace) {
  const std::vector<double> noisy = {-1e-9, 0.5, 0.5};
  EXPECT_NEAR(entropy_of_spectrum(noisy, 1.0, 0.5), std::log(2.0), 1e-15);
  const std::vector<double> half = {0.25, 0.25};
  // sum p^0.5 = 1 with p = 1/4, 1/4 of a trace of 1.
  EXPECT_NEAR(entropy_of_spectrum(half, 1.0, 0.5), 0.0, 1e-15);
}

TEST(EntropyOfSpectrumTest, NeitherOverflowsNorVanishesAtExtremeOrders) {
  std::vector<double> spectrum(1000, 1e-3);
  for (const double alpha : {1e-3, 50.0, 1e3, 1e6, 1e300}) {
    EXPECT_NEAR(entropy_of_spectrum(spectrum, 1.0, alpha), std::log(1000.0), 1e-9) << alpha;
  }
}

TEST(EntropyOfSpectrumTest, RefusesUnfitSpectra) {
  const auto message = [](const std::vector<double>& spectrum, double trace,
                          const std::string& text) {
    EXPECT_THAT([&] { entropy_of_spectrum(spectrum, trace, 0.5); },
                ThrowsMessage<InvalidArgument>(StrEq(text)));
  };
  message({}, 1.0, "entropy: no eigenvalue is above 0");
  message({-1.0, 0.0}, 1.0, "entropy: no eigenvalue is above 0");
  message({1.0}, 0.0, "entropy: the trace must be > 0 and finite, got 0");
  message({1.0, kInfinity}, 1.0, "entropy: eigenvalues must be finite, got inf");
}

}  // namespace
}  // namespace lime
