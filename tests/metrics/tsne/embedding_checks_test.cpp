// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/embedding_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "metrics/random_matrix.h"
#include "metrics/tsne/initialization.h"
#include "support/refusal.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

TEST(EmbeddingChecksTest, TheRadiusIsTheRootMeanSquareDistanceFromTheMean) {
  MatrixD square(4, 2);
  square << 5.0, 5.0, 7.0, 5.0, 5.0, 7.0, 7.0, 7.0;
  EXPECT_NEAR(radius_of(square), std::sqrt(2.0), 1e-12);
}

TEST(EmbeddingChecksTest, NamesWhatIsWrongWithAnExtent) {
  EXPECT_EQ(extent_fault(MatrixD::Constant(9, 2, 3.0)),
            "the points coincide (root mean square radius 0)");
  EXPECT_THAT(extent_fault(1e6 * testing::random_matrix(9, 2, 1)), HasSubstr("thrown apart"));
  MatrixD broken = random_initialization(500, 1);
  EXPECT_EQ(extent_fault(broken), "");
  broken(3, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(extent_fault(broken), "");
}

TEST(EmbeddingChecksTest, NamesARadiusOfAnotherOrderThanThePreviousLayers) {
  const MatrixD before = testing::random_matrix(40, 2, 2);
  EXPECT_EQ(radius_fault(before, 900.0 * before), "");
  EXPECT_EQ(radius_fault(before, before / 900.0), "");
  EXPECT_EQ(radius_fault(before, 2e4 * before),
            "the radius is 2e+04 times that of the previous layer");
  EXPECT_EQ(radius_fault(before, before / 2e4),
            "the radius is 5e-05 times that of the previous layer");
}

class CheckResultTest : public ::testing::Test {
 protected:
  CheckResultTest() {
    result_.embedding = testing::random_matrix(100, 2, 3);
    result_.iterations = 1000;
    result_.kl_divergence = 1.5;
  }

  std::string refusal(double start_divergence) {
    return testing::refusal_of<NumericalError>(
        [&] { tsne_detail::check_result(result_, options_, start_divergence); });
  }

  TsneResult result_;
  TsneOptions options_;
};

TEST_F(CheckResultTest, AcceptsARunThatImprovedOnItsStart) {
  EXPECT_NO_THROW(tsne_detail::check_result(result_, options_, 4.0));
}

TEST_F(CheckResultTest, RefusesARunThatEndsAboveItsStart) {
  EXPECT_EQ(refusal(1.25),
            "tsne: the optimisation diverged: the divergence is 1.5 nats after 1000 iterations, "
            "above 1.25 at the start; use --init random, another seed, or another perplexity");
  // While the affinities are exaggerated, the divergence is not what falls.
  result_.iterations = 500;
  EXPECT_NO_THROW(tsne_detail::check_result(result_, options_, 1.25));
}

TEST_F(CheckResultTest, RefusesAnExtentAtAnyIterationAndNamesTheLearningRate) {
  options_.learning_rate = 1e5;
  result_.iterations = 50;
  result_.embedding *= 1e9;
  EXPECT_THAT(refusal(4.0), HasSubstr("the points are thrown apart (root mean square radius 1."));
  EXPECT_THAT(refusal(4.0),
              HasSubstr("after 50 iterations; use a learning rate below 100000, or the default"));
  result_.embedding.setZero();
  EXPECT_THAT(refusal(4.0), HasSubstr("the points coincide"));
}

}  // namespace
}  // namespace lime
