// SPDX-License-Identifier: Apache-2.0
// Routing from a buffer of values, and measures from its moments and spectra.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "core/errors.h"
#include "core/threads/thread_pool.h"
#include "metrics/entropy/matrix_entropy.h"
#include "metrics/router/cancellation_index.h"
#include "metrics/router/layer_router.h"
#include "metrics/router/random_routers.h"
#include "metrics/router/spectrum_calculator.h"
#include "metrics/router/value_buffer.h"
#include "metrics/router/value_router.h"
#include "support/statistics.h"

namespace lime {
namespace {

using Eigen::Index;
using testing::buffer_of;
using testing::random_routers;
using testing::random_values;
using testing::route_directly;

constexpr Index kNumLayers = 4;
constexpr Index kNumHeads = 3;
constexpr Index kHeadDim = 5;
constexpr Index kTokens = 70;

TEST(ValueRouterTest, EqualsTheSumOverBufferedHeads) {
  const std::vector<MatrixF> values = random_values(kNumLayers, kTokens, kNumHeads * kHeadDim);
  const ValueBuffer buffer = buffer_of(values, kNumHeads);
  const Routers routers = random_routers(kNumLayers, kNumHeads);
  ValueRouter router;
  MatrixD routed;
  for (std::size_t layer = 0; layer < kNumLayers; ++layer) {
    const MatrixD& weights = routers.weights[layer];
    router.route(buffer, weights, {10, 50}, routed);
    const MatrixD expected = route_directly(values, weights).middleRows(10, 50);
    const MatrixF rows = routed_rows(routed, kNumHeads);
    EXPECT_LT((rows.cast<double>() - expected).cwiseAbs().maxCoeff(), 2e-6) << layer;
    EXPECT_EQ(routed.rows(), kNumHeads * kHeadDim);
    EXPECT_NEAR(routed(4 * kNumHeads + 2, 7), expected(7, 2 * kHeadDim + 4), 1e-13);
  }
}

/// One random router per dimension of a head, for layer 3.
LayerRouter router_per_dimension() {
  std::vector<MatrixD> weights;
  for (Index dim = 0; dim < kHeadDim; ++dim) {
    weights.push_back(random_routers(kNumLayers, kNumHeads, std::uint64_t(dim)).weights[3]);
  }
  return LayerRouter(std::move(weights));
}

TEST(ValueRouterTest, RoutesEveryDimensionByItsOwnWeights) {
  const std::vector<MatrixF> values = random_values(kNumLayers, kTokens, kNumHeads * kHeadDim);
  const ValueBuffer buffer = buffer_of(values, kNumHeads);
  const LayerRouter router = router_per_dimension();
  MatrixD routed;
  ValueRouter().route(buffer, router, {0, kTokens}, routed);
  for (Index dim = 0; dim < kHeadDim; ++dim) {
    const MatrixD expected = route_directly(values, router.of_dimension(dim));
    for (Index head = 0; head < kNumHeads; ++head) {
      const VectorD feature = expected.col(head * kHeadDim + dim);
      EXPECT_LT((routed.row(dim * kNumHeads + head).transpose() - feature).norm(), 1e-12);
    }
  }
  const LayerRouter wrong(std::vector<MatrixD>(2, MatrixD::Ones(kNumHeads, kNumHeads)));
  EXPECT_THROW(ValueRouter().route(buffer, wrong, {0, 1}, routed), InvalidArgument);
}

TEST(ValueRouterTest, IdentityGivesTheOwnLayerBack) {
  const std::vector<MatrixF> values = random_values(kNumLayers, kTokens, kNumHeads * kHeadDim);
  ValueRouter router;
  MatrixD routed;
  router.route(buffer_of(values, kNumHeads), Routers::identity(kNumLayers, kNumHeads).weights[2],
               {0, kTokens}, routed);
  EXPECT_EQ(routed_rows(routed, kNumHeads), values[2]);
}

TEST(ValueRouterTest, RefusesWhatDoesNotFit) {
  const ValueBuffer buffer = buffer_of(random_values(2, 8, 6), 3);
  ValueRouter router;
  MatrixD routed;
  EXPECT_THROW(router.route(buffer, MatrixD(MatrixD::Ones(2, 6)), {0, 8}, routed), InvalidArgument);
  EXPECT_THROW(router.route(buffer, MatrixD(MatrixD::Ones(3, 9)), {0, 8}, routed), InvalidArgument);
  EXPECT_THROW(router.route(buffer, MatrixD(MatrixD::Ones(3, 6)), {4, 8}, routed), InvalidArgument);
}

/// Weights of each token equal one router per token; without head mixing a head reads its own.
TEST(ValueRouterTest, RoutesEveryTokenByItsOwnWeights) {
  const std::vector<MatrixF> values = random_values(kNumLayers, kTokens, kNumHeads * kHeadDim);
  const ValueBuffer buffer = buffer_of(values, kNumHeads);
  for (const Index heads : {kNumHeads, Index{1}}) {
    const Index width = kNumLayers * heads;
    const MatrixD weights = MatrixD::Random(kNumHeads * width, 20);
    MatrixD routed;
    ValueRouter().route_tokens(buffer, weights, {30, 20}, routed);
    for (Index token = 0; token < 20; ++token) {
      MatrixD router = MatrixD::Zero(kNumHeads, kNumLayers * kNumHeads);
      for (Index head = 0; head < kNumHeads; ++head) {
        for (Index i = 0; i < width; ++i) {
          const Index column = heads == 1 ? i * kNumHeads + head : i;
          router(head, column) = weights(head * width + i, token);
        }
      }
      const MatrixD expected = route_directly(values, router).row(30 + token);
      for (Index column = 0; column < expected.cols(); ++column) {
        const Index feature = column % kHeadDim * kNumHeads + column / kHeadDim;
        EXPECT_NEAR(routed(feature, token), expected(0, column), 1e-12);
      }
    }
  }
  MatrixD routed;
  EXPECT_THROW(ValueRouter().route_tokens(buffer, MatrixD::Ones(kNumHeads * 2, 8), {0, 8}, routed),
               InvalidArgument);
  EXPECT_THROW(
      ValueRouter().route_tokens(buffer, MatrixD::Ones(kNumHeads * kNumLayers, 8), {65, 8}, routed),
      InvalidArgument);
}

TEST(SpectrumCalculatorTest, EqualsTheEntropyOfStandardisedRows) {
  const std::vector<MatrixF> values = random_values(1, kTokens, kNumHeads * kHeadDim);
  const Standardization standardization = make_standardization(testing::statistics_of(values[0]));
  MatrixD features = values[0].cast<double>().transpose();
  const std::vector<double> orders = {0.5, 1.0, 2.0};
  SpectrumCalculator calculator;
  const std::optional<SpectrumSummary> summary =
      calculator.compute(features, standardization, orders);
  ASSERT_TRUE(summary.has_value());
  const MatrixD z = standardize(values[0], standardization);
  for (std::size_t i = 0; i < orders.size(); ++i) {
    EXPECT_NEAR(summary->entropies[i], matrix_renyi_entropy(z, orders[i]), 1e-11) << orders[i];
  }
}

TEST(SpectrumCalculatorTest, EffectiveRankOfOrthogonalRowsIsTheirNumber) {
  MatrixD features = 3.0 * MatrixD::Identity(12, 4);
  SpectrumCalculator calculator;
  EXPECT_NEAR(calculator.compute(features, std::nullopt, {})->effective_rank, 4.0, 1e-12);
  // Singular values 2 and 1: p = 2/3, 1/3.
  features = MatrixD::Zero(3, 5);
  features(0, 0) = 2.0;
  features(1, 1) = 1.0;
  EXPECT_NEAR(calculator.compute(features, std::nullopt, {})->effective_rank,
              std::exp(std::log(3.0) - 2.0 / 3.0 * std::log(2.0)), 1e-6);
}

TEST(SpectrumCalculatorTest, SaysNothingOfZerosAndRefusesNan) {
  MatrixD features = MatrixD::Zero(3, 5);
  SpectrumCalculator calculator;
  EXPECT_FALSE(calculator.compute(features, std::nullopt, {}).has_value());
  features(1, 4) = std::nan("");
  try {
    calculator.compute(features, std::nullopt, {});
    FAIL() << "expected InvalidArgument";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "spectrum: values must be finite, got nan at token 4; check the model for "
                 "overflow, or capture in a wider type");
  }
}

double cancellation_of(const std::vector<MatrixF>& values, const MatrixD& router) {
  CancellationIndex index(router.rows());
  index.add(buffer_of(values, router.rows()), router, {0, values[0].rows()});
  return index.mean()(0);
}

TEST(CancellationIndexTest, IsZeroForOneSourceAndOneForOpposites) {
  const std::vector<MatrixF> values = random_values(1, 9, 6);
  EXPECT_NEAR(cancellation_of(values, MatrixD::Constant(1, 1, -0.7)), 0.0, 1e-15);
  const std::vector<MatrixF> twice = {values[0], values[0]};
  MatrixD router(1, 2);
  router << 0.5, 0.5;
  EXPECT_NEAR(cancellation_of(twice, router), 0.0, 1e-12);
  router << 0.5, -0.5;
  EXPECT_NEAR(cancellation_of(twice, router), 1.0, 1e-12);
  router << 0.75, -0.25;
  EXPECT_NEAR(cancellation_of(twice, router), 0.5, 1e-12);
}

TEST(CancellationIndexTest, OfRandomDirectionsApproachesOneMinusOneOverRootM) {
  constexpr Index kSources = 4;
  std::vector<MatrixF> values;
  for (const MatrixF& rows : random_values(kSources, 50, 2000)) {
    const float mean = rows.mean();
    MatrixF centred = (rows.array() - mean).matrix();
    values.push_back(centred / centred.norm());
  }
  EXPECT_NEAR(cancellation_of(values, MatrixD::Ones(1, kSources)), 0.5, 0.01);
}

TEST(CancellationIndexTest, HeadsWithoutContributionsHaveNone) {
  CancellationIndex index(2);
  MatrixD router(2, 2);
  router << 1.0, 0.0, 0.0, 0.0;
  index.add(buffer_of(random_values(1, 4, 4), 2), router, {0, 4});
  EXPECT_NEAR(index.mean()(0), 0.0, 1e-15);
  EXPECT_TRUE(std::isnan(index.mean()(1)));
  EXPECT_EQ(index.count(1), 0);
}

}  // namespace
}  // namespace lime
