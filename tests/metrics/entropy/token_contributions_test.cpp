// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/token_contributions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/errors.h"
#include "core/random.h"
#include "core/threads/thread_pool.h"
#include "metrics/entropy/matrix_entropy.h"
#include "support/refusal.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

MatrixD normal_matrix(Eigen::Index rows, Eigen::Index cols, std::uint64_t seed) {
  Random random(seed);
  MatrixD matrix(rows, cols);
  for (Eigen::Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = random.normal();
  return matrix;
}

MatrixD without_row(const MatrixD& matrix, Eigen::Index row) {
  MatrixD rest(matrix.rows() - 1, matrix.cols());
  rest.topRows(row) = matrix.topRows(row);
  rest.bottomRows(rest.rows() - row) = matrix.bottomRows(rest.rows() - row);
  return rest;
}

class TokenContributionsTest : public ::testing::Test {
 protected:
  /// Compares with entropies of the sequences without each token.
  void expect_brute_force(const MatrixD& z, double alpha, double tolerance) {
    const TokenContributions result = token_contributions(z, alpha, pool_);
    const double whole = matrix_renyi_entropy(ConstMatrixRefD(z), alpha);
    EXPECT_NEAR(result.entropy, whole, tolerance);
    ASSERT_EQ(result.contributions.size(), z.rows());
    for (Eigen::Index t = 0; t < z.rows(); ++t) {
      const MatrixD rest = without_row(z, t);
      EXPECT_NEAR(result.contributions(t),
                  whole - matrix_renyi_entropy(ConstMatrixRefD(rest), alpha), tolerance)
          << z.rows() << " x " << z.cols() << ", alpha " << alpha << ", token " << t;
    }
  }

  ThreadPool pool_{2};
};

TEST_F(TokenContributionsTest, AreDifferencesOfEntropiesWithAndWithoutTheToken) {
  for (const auto& [rows, cols] : {std::pair(2, 3), std::pair(7, 16), std::pair(12, 12),
                                   std::pair(40, 9), std::pair(33, 64)}) {
    for (const double alpha : {0.5, 1.0, 2.0, std::numeric_limits<double>::infinity()}) {
      // At order 1/2 a zero eigenvalue with a rounding error of 1e-16 of the trace contributes
      // 1e-8.
      expect_brute_force(normal_matrix(rows, cols, 3), alpha, 2e-7);
    }
  }
}

TEST_F(TokenContributionsTest, HoldWhereEigenvaluesComeTwiceOrAreZero) {
  MatrixD z = MatrixD::Zero(9, 20);
  z.topRows(4) = MatrixD::Identity(4, 20);
  z.row(4) = z.row(0);
  z.row(5) = 3.0 * z.row(1);
  z.row(6) = normal_matrix(1, 20, 5);
  z.row(8) = z.row(6);
  for (const double alpha : {0.5, 1.0, 2.0}) expect_brute_force(z, alpha, 1e-6);
}

TEST_F(TokenContributionsTest, OfOrthonormalTokensAreTheStepOfTheLogarithm) {
  const MatrixD z = MatrixD::Identity(5, 12);
  const TokenContributions result = token_contributions(z, 0.5, pool_);
  EXPECT_NEAR(result.entropy, std::log(5.0), 1e-12);
  for (const double value : result.contributions) {
    EXPECT_NEAR(value, std::log(5.0) - std::log(4.0), 1e-12);
  }
}

TEST_F(TokenContributionsTest, OfATokenThatOutweighsTheOthersIsNegative) {
  MatrixD z = normal_matrix(10, 30, 7);
  z.row(3) *= 100.0;
  const TokenContributions result = token_contributions(z, 0.5, pool_);
  EXPECT_LT(result.contributions(3), -0.5);
  EXPECT_GT(result.contributions(0), 0.0);
}

TEST_F(TokenContributionsTest, OfTheOnlyTokenThatIsNotZeroIsZero) {
  MatrixD z = MatrixD::Zero(3, 4);
  z(1, 2) = 2.0;
  EXPECT_NEAR(token_contributions(z, 0.5, pool_).contributions.cwiseAbs().maxCoeff(), 0.0, 1e-12);
}

TEST_F(TokenContributionsTest, HaveTheSameBitsForAnyNumberOfThreads) {
  const MatrixD z = normal_matrix(25, 16, 11);
  ThreadPool alone(1);
  EXPECT_EQ(token_contributions(z, 0.5, pool_).contributions,
            token_contributions(z, 0.5, alone).contributions);
}

TEST_F(TokenContributionsTest, RefusesWhatHasNoEntropy) {
  const auto refusal = [&](const MatrixD& z, double alpha = 0.5) -> std::string {
    return testing::refusal_of<InvalidArgument>([&] { token_contributions(z, alpha, pool_); });
  };
  EXPECT_THAT(refusal(MatrixD::Ones(1, 4)), HasSubstr("needs at least 2 tokens, got 1"));
  EXPECT_THAT(refusal(MatrixD::Zero(3, 4)), HasSubstr("must not be all zero"));
  EXPECT_THAT(refusal(MatrixD::Constant(3, 4, std::nan(""))), HasSubstr("must be finite"));
  EXPECT_THAT(refusal(MatrixD::Ones(3, 4), 0.0), HasSubstr("alpha"));
}

}  // namespace
}  // namespace lime
