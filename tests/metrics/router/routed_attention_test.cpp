// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/routed_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/errors.h"
#include "metrics/random_matrix.h"
#include "metrics/router/layer_router.h"
#include "support/refusal.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

constexpr int kNumKeys = 3;
constexpr int kHeads = 2;
constexpr int kDim = 4;

const std::vector<double> kPattern = {0.5, 0.3, 0.2};

std::vector<MatrixF> random_values(int layers) {
  std::vector<MatrixF> values;
  for (int m = 0; m < layers; ++m) {
    values.push_back(testing::random_matrix(kNumKeys, kHeads * kDim, 7U + static_cast<unsigned>(m))
                         .cast<float>());
  }
  return values;
}

TEST(RoutedAttentionTest, IsTheLengthOfWhatEachBufferedLayerGives) {
  const MatrixD weights = testing::random_matrix(kHeads, 2 * kHeads, 1);
  const std::vector<MatrixF> values = random_values(2);
  const MatrixD shares = routed_attention(kPattern, weights, 1, values);
  MatrixD expected(2, kNumKeys);
  for (int m = 0; m < 2; ++m) {
    for (int k = 0; k < kNumKeys; ++k) {
      VectorD read = VectorD::Zero(kDim);
      for (int j = 0; j < kHeads; ++j) {
        read += weights(1, m * kHeads + j) *
                values[static_cast<std::size_t>(m)].row(k).segment(j * kDim, kDim).cast<double>();
      }
      expected(m, k) = kPattern[static_cast<std::size_t>(k)] * read.norm();
    }
  }
  expected /= expected.sum();
  EXPECT_LT((shares - expected).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_NEAR(shares.sum(), 1.0, 1e-12);
}

TEST(RoutedAttentionTest, AnIdentityReadsItsOwnLayerAlone) {
  const MatrixD shares =
      routed_attention(kPattern, LayerRouter::identity(2, kHeads), 0, random_values(3));
  EXPECT_EQ(shares.topRows(2).sum(), 0.0);
  EXPECT_NEAR(shares.row(2).sum(), 1.0, 1e-12);
}

TEST(RoutedAttentionTest, EqualWeightsPerDimensionAreOneWeight) {
  const MatrixD weights = testing::random_matrix(kHeads, 2 * kHeads, 3);
  const LayerRouter per_dimension(std::vector<MatrixD>(kDim, weights));
  const std::vector<MatrixF> values = random_values(2);
  EXPECT_EQ(routed_attention(kPattern, weights, 0, values),
            routed_attention(kPattern, per_dimension, 0, values));
  const MatrixD scales = MatrixD::Constant(2, kHeads, 0.5);
  EXPECT_LT((routed_attention_of_scales(kPattern, weights, 0, scales) -
             routed_attention_of_scales(kPattern, per_dimension, 0, scales))
                .cwiseAbs()
                .maxCoeff(),
            1e-12);
}

TEST(RoutedAttentionTest, ScalesStandForValuesOfOneLength) {
  // One head, so that nothing cancels; every value has norm 2.
  MatrixD weights(1, 3);
  weights << 0.5, -1.0, 0.25;
  std::vector<MatrixF> values(3, MatrixF::Zero(kNumKeys, kDim));
  for (MatrixF& layer : values) layer.col(1).setConstant(-2.0F);
  const MatrixD scales = MatrixD::Constant(3, 1, 2.0);
  EXPECT_LT((routed_attention(kPattern, weights, 0, values) -
             routed_attention_of_scales(kPattern, weights, 0, scales))
                .cwiseAbs()
                .maxCoeff(),
            1e-12);
}

TEST(RoutedAttentionTest, RefusesWhatDoesNotFit) {
  const LayerRouter router = LayerRouter::identity(1, kHeads);
  const auto refusal = [&](std::int64_t head, const std::vector<MatrixF>& values) -> std::string {
    return testing::refusal_of<InvalidArgument>(
        [&] { routed_attention(kPattern, router, head, values); });
  };
  EXPECT_THAT(refusal(2, random_values(2)), HasSubstr("head must be in [0, 2), got 2"));
  EXPECT_THAT(refusal(0, random_values(3)), HasSubstr("reads 2 layers, got values of 3"));
  EXPECT_THAT(refusal(0, std::vector<MatrixF>(2, MatrixF::Zero(2, 8))),
              HasSubstr("values of layer 0 must have the shape [3,"));
}

}  // namespace
}  // namespace lime
