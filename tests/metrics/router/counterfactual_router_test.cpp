// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/counterfactual_router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "metrics/router/layer_router.h"
#include "metrics/router/random_routers.h"
#include "metrics/router/routers.h"

namespace lime {
namespace {

using Eigen::Index;
using testing::random_routers;

constexpr Index kLayers = 5;
constexpr Index kHeads = 2;

HeadScales uneven_scales() {
  HeadScales scales(kLayers, kHeads);
  for (Index i = 0; i < scales.size(); ++i) scales.data()[i] = 0.5 + 0.25 * double(i);
  return scales;
}

Routers counterfactual_routers(const Routers& trained, const HeadScales& scales,
                               const Counterfactual& counterfactual,
                               const CounterfactualOptions& options = {}) {
  Routers made = trained;
  for (Index layer = 0; layer < trained.num_layers(); ++layer) {
    MatrixD& weights = made.weights[std::size_t(layer)];
    weights =
        counterfactual_router(weights, scales, layer, counterfactual, options).of_dimension(0);
  }
  return made;
}

Routers make(const std::string& name, const CounterfactualOptions& options = {}) {
  return counterfactual_routers(random_routers(kLayers, kHeads), uneven_scales(),
                                Counterfactual::parse(name), options);
}

/// Returns the contributions of one target head: weights times scales.
std::vector<double> contributions(const Routers& routers, const HeadScales& scales, Index layer,
                                  Index head) {
  std::vector<double> result;
  const MatrixD& router = routers.weights[std::size_t(layer)];
  for (Index column = 0; column < router.cols(); ++column) {
    result.push_back(router(head, column) * scales(column / kHeads, column % kHeads));
  }
  return result;
}

double norm_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

TEST(CounterfactualRouterTest, NamesAreReadBack) {
  for (const std::string name : {"trained", "identity", "last-2", "first-1", "top-4", "unsigned",
                                 "permuted", "random", "cut-0"}) {
    EXPECT_EQ(Counterfactual::parse(name).name(), name);
  }
  for (const std::string name : {"", "last", "last-", "last-0", "top-x", "cut--1", "identity-1",
                                 "cut-99999999999", "Last-1"}) {
    EXPECT_THROW(Counterfactual::parse(name), InvalidArgument) << name;
  }
}

TEST(CounterfactualRouterTest, TrainedAndIdentityAreWhatTheySay) {
  const Routers trained = random_routers(kLayers, kHeads);
  EXPECT_EQ(make("trained").weights, trained.weights);
  EXPECT_EQ(make("identity").weights, Routers::identity(kLayers, kHeads).weights);
}

TEST(CounterfactualRouterTest, KeepsOrDropsWholeLayers) {
  const MatrixD trained = random_routers(kLayers, kHeads).weights[4];
  const MatrixD last = make("last-2").weights[4];
  EXPECT_EQ(MatrixD(last.rightCols(4)), MatrixD(trained.rightCols(4)));
  EXPECT_TRUE((last.leftCols(6).array() == 0.0).all());
  const MatrixD first = make("first-2").weights[4];
  EXPECT_EQ(MatrixD(first.leftCols(4)), MatrixD(trained.leftCols(4)));
  EXPECT_TRUE((first.rightCols(6).array() == 0.0).all());
  EXPECT_EQ(MatrixD(last.rightCols(4) + 0.0 * last.leftCols(4)), MatrixD(trained.rightCols(4)));
  const MatrixD cut = make("cut-3").weights[4];
  EXPECT_TRUE((cut.middleCols(6, 2).array() == 0.0).all());
  EXPECT_EQ((cut - trained).norm(), trained.middleCols(6, 2).norm());
  // More layers than exist: nothing is removed.
  EXPECT_EQ(make("last-9").weights[4], trained);
  EXPECT_EQ(make("first-9").weights[4], trained);
  EXPECT_EQ(make("cut-4").weights[3], random_routers(kLayers, kHeads).weights[3]);
}

TEST(CounterfactualRouterTest, OnlyCuttingTheEmbeddingTouchesLayerZero) {
  const MatrixD identity = MatrixD::Identity(kHeads, kHeads);
  for (const std::string name : {"last-1", "top-1", "unsigned", "permuted", "random", "cut-1"}) {
    EXPECT_EQ(make(name).weights[0], identity) << name;
  }
  EXPECT_EQ(make("cut-0").weights[0], MatrixD(MatrixD::Zero(kHeads, kHeads)));
}

TEST(CounterfactualRouterTest, TopKeepsWhatContributesMost) {
  const Routers trained = random_routers(kLayers, kHeads);
  const Routers top = make("top-3");
  for (Index head = 0; head < kHeads; ++head) {
    const std::vector<double> before = contributions(trained, uneven_scales(), 3, head);
    const std::vector<double> after = contributions(top, uneven_scales(), 3, head);
    double smallest_kept = INFINITY;
    double largest_dropped = 0.0;
    int kept = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (after[i] == 0.0) {
        largest_dropped = std::max(largest_dropped, std::abs(before[i]));
      } else {
        EXPECT_EQ(after[i], before[i]);
        smallest_kept = std::min(smallest_kept, std::abs(before[i]));
        ++kept;
      }
    }
    EXPECT_EQ(kept, 3);
    EXPECT_GT(smallest_kept, largest_dropped);
  }
}

TEST(CounterfactualRouterTest, UnsignedDropsTheSignsOnly) {
  const Routers trained = random_routers(kLayers, kHeads);
  EXPECT_EQ(make("unsigned").weights[2], MatrixD(trained.weights[2].cwiseAbs()));
}

TEST(CounterfactualRouterTest, PermutingMovesTheSameContributions) {
  const Routers trained = random_routers(kLayers, kHeads);
  const Routers permuted = make("permuted");
  std::vector<double> before = contributions(trained, uneven_scales(), 4, 1);
  std::vector<double> after = contributions(permuted, uneven_scales(), 4, 1);
  EXPECT_NE(before, after);
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-15);
}

TEST(CounterfactualRouterTest, RandomHasTheNormOfTheTrainedAndFollowsItsSeed) {
  const Routers trained = random_routers(kLayers, kHeads);
  const Routers random = make("random");
  for (Index head = 0; head < kHeads; ++head) {
    EXPECT_NEAR(norm_of(contributions(random, uneven_scales(), 4, head)),
                norm_of(contributions(trained, uneven_scales(), 4, head)), 1e-13);
  }
  EXPECT_EQ(make("random").weights, random.weights);
  EXPECT_NE(make("random", {.seed = 1}).weights, random.weights);
}

TEST(CounterfactualRouterTest, KeepsTheNormWhenAsked) {
  const Routers trained = random_routers(kLayers, kHeads);
  for (const std::string name : {"last-1", "top-2", "cut-0", "unsigned"}) {
    const Routers made = make(name, {.keep_norm = true});
    EXPECT_NEAR(norm_of(contributions(made, uneven_scales(), 3, 0)),
                norm_of(contributions(trained, uneven_scales(), 3, 0)), 1e-13)
        << name;
  }
}

// W_V of head 1 of layer 1 times -4 and its columns divided by -4: the same model.
TEST(CounterfactualRouterTest, SaysTheSameOfModelsThatScaleTheirHeadsDifferently) {
  const Routers trained = random_routers(kLayers, kHeads);
  Routers rescaled = trained;
  HeadScales scales = uneven_scales();
  scales(1, 1) *= 4.0;
  for (std::size_t layer = 1; layer < kLayers; ++layer) rescaled.weights[layer].col(3) /= 4.0;
  for (const std::string name : {"last-2", "first-1", "top-3", "permuted", "random", "cut-1"}) {
    const Counterfactual counterfactual = Counterfactual::parse(name);
    const Routers a = counterfactual_routers(trained, uneven_scales(), counterfactual);
    const Routers b = counterfactual_routers(rescaled, scales, counterfactual);
    const std::vector<double> before = contributions(a, uneven_scales(), 4, 0);
    const std::vector<double> after = contributions(b, scales, 4, 0);
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_NEAR(after[i], before[i], 1e-13) << name;
    }
  }
}

/// A router of layer 2 with a weight per dimension, and scales of all layers.
struct PerDimension {
  static constexpr Index kDims = 3;
  LayerRouter router = LayerRouter::identity(2, kHeads, kDims);
  HeadScales scales = HeadScales::Ones(3, kHeads* kDims);

  PerDimension() {
    std::vector<MatrixD> weights;
    for (Index dim = 0; dim < kDims; ++dim) {
      weights.push_back(random_routers(3, kHeads, std::uint64_t(dim)).weights[2]);
    }
    router = LayerRouter(std::move(weights));
    for (Index i = 0; i < scales.size(); ++i) scales.data()[i] = 0.5 + 0.125 * double(i);
  }
  LayerRouter make(const std::string& name) const {
    return counterfactual_router(router, scales, 2, Counterfactual::parse(name));
  }
};

TEST(PerDimensionRouterTest, WhatMovesWholeLayersIsThatOfEveryDimension) {
  const PerDimension given;
  for (const std::string name : {"trained", "identity", "last-2", "first-1", "unsigned", "cut-1"}) {
    const LayerRouter made = given.make(name);
    ASSERT_EQ(made.num_dims(), PerDimension::kDims) << name;
    for (Index dim = 0; dim < PerDimension::kDims; ++dim) {
      const LayerRouter alone =
          counterfactual_router(given.router.of_dimension(dim), HeadScales::Ones(3, kHeads), 2,
                                Counterfactual::parse(name));
      EXPECT_EQ(made.of_dimension(dim), alone.of_dimension(0)) << name;
    }
  }
}

TEST(PerDimensionRouterTest, TopKeepsAndPermutingMovesWholeHeads) {
  const PerDimension given;
  const auto contribution = [&](const LayerRouter& router, Index column) {
    VectorD result(PerDimension::kDims);
    for (Index dim = 0; dim < result.size(); ++dim) {
      result(dim) = router.of_dimension(dim)(0, column) *
                    given.scales(column / kHeads, column % kHeads * PerDimension::kDims + dim);
    }
    return result;
  };
  const LayerRouter top = given.make("top-1");
  const LayerRouter permuted = given.make("permuted");
  Index largest = 0;
  for (Index column = 1; column < 6; ++column) {
    if (contribution(given.router, column).norm() > contribution(given.router, largest).norm()) {
      largest = column;
    }
  }
  for (Index column = 0; column < 6; ++column) {
    const VectorD expected = column == largest ? contribution(given.router, column)
                                               : VectorD(VectorD::Zero(PerDimension::kDims));
    EXPECT_EQ(contribution(top, column), expected) << column;
    int found = 0;
    for (Index other = 0; other < 6; ++other) {
      found += contribution(permuted, column).isApprox(contribution(given.router, other), 1e-14);
    }
    EXPECT_EQ(found, 1) << column;
  }
}

// Dimension 1 of head 0 of layer 1 times 4 and its weights divided by 4: the same model.
TEST(PerDimensionRouterTest, SaysTheSameOfModelsThatScaleTheirDimensionsDifferently) {
  const PerDimension given;
  PerDimension rescaled;
  std::vector<MatrixD> weights;
  for (Index dim = 0; dim < PerDimension::kDims; ++dim) {
    weights.push_back(given.router.of_dimension(dim));
  }
  weights[1].col(2) /= 4.0;
  rescaled.router = LayerRouter(weights);
  rescaled.scales(1, 1) *= 4.0;
  for (const std::string name : {"last-2", "top-3", "permuted", "random", "cut-1"}) {
    const LayerRouter a = given.make(name);
    const LayerRouter b = rescaled.make(name);
    for (Index dim = 0; dim < PerDimension::kDims; ++dim) {
      MatrixD expected = a.of_dimension(dim);
      if (dim == 1) expected.col(2) /= 4.0;
      EXPECT_LT((b.of_dimension(dim) - expected).norm(), 1e-13) << name;
    }
  }
}

TEST(CounterfactualRouterTest, RefusesWhatDoesNotFit) {
  try {
    make("cut-5");
    FAIL() << "expected InvalidArgument";
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "router: cut-5 must name a layer from 0 to 4");
  }
  EXPECT_THROW(counterfactual_routers(random_routers(3, 2), HeadScales::Ones(2, 2), {}),
               InvalidArgument);
}

TokenRouter token_router_of(const MatrixF& weights, Index heads, Index source_heads) {
  TokenRouter router;
  router.layer = 3;
  router.mean = weights.cast<double>().colwise().mean().transpose();
  router.scales = MatrixD::Random(heads, weights.cols() / heads).cwiseAbs().array() + 0.1;
  router.source_heads = source_heads;
  return router;
}

MatrixD token_weights(const MatrixF& weights, const TokenRouter& router, const std::string& name,
                      bool keep_norm = false) {
  return counterfactual_weights(weights, router, Counterfactual::parse(name),
                                {.seed = 5, .keep_norm = keep_norm}, 40);
}

/// Two heads that read the same head of four layers.
TEST(CounterfactualWeightsTest, ReplaceTheWeightsOfEachToken) {
  const MatrixF weights = MatrixF::Random(30, 8);
  const TokenRouter router = token_router_of(weights, 2, 1);
  const MatrixD trained = weights.cast<double>().transpose();
  EXPECT_EQ(token_weights(weights, router, "trained"), trained);
  const MatrixD mean = token_weights(weights, router, "mean");
  EXPECT_EQ(mean, MatrixD(router.mean.replicate(1, 30)));
  const MatrixD identity = token_weights(weights, router, "identity");
  const MatrixD last = token_weights(weights, router, "last-2");
  const MatrixD top = token_weights(weights, router, "top-1");
  const MatrixD cut = token_weights(weights, router, "cut-1");
  for (Index token = 0; token < 30; ++token) {
    for (Index head = 0; head < 2; ++head) {
      const VectorD own = trained.col(token).segment(head * 4, 4);
      Index largest = 0;
      own.cwiseProduct(router.scales.row(head).transpose()).cwiseAbs().maxCoeff(&largest);
      for (Index j = 0; j < 4; ++j) {
        const Index row = head * 4 + j;
        EXPECT_EQ(identity(row, token), j == 3 ? 1.0 : 0.0);
        EXPECT_EQ(last(row, token), j >= 2 ? own(j) : 0.0);
        EXPECT_EQ(cut(row, token), j == 1 ? 0.0 : own(j));
        EXPECT_EQ(top(row, token), j == largest ? own(j) : 0.0);
      }
    }
  }
}

TEST(CounterfactualWeightsTest, ShuffledAreThoseOfAnotherToken) {
  const MatrixF weights = MatrixF::Random(30, 8);
  const MatrixD shuffled = token_weights(weights, token_router_of(weights, 2, 1), "shuffled");
  std::vector<Index> from;
  for (Index token = 0; token < 30; ++token) {
    for (Index other = 0; other < 30; ++other) {
      if (shuffled.col(token) == weights.row(other).cast<double>().transpose()) {
        from.push_back(other);
      }
    }
  }
  ASSERT_EQ(from.size(), 30U);
  EXPECT_FALSE(std::ranges::is_sorted(from));
  std::ranges::sort(from);
  for (Index token = 0; token < 30; ++token) EXPECT_EQ(from[std::size_t(token)], token);
}

TEST(CounterfactualWeightsTest, RandomKeepsTheNormOfEachTokenAndPermutedTheOrderOfAll) {
  const MatrixF weights = MatrixF::Random(30, 8);
  const TokenRouter router = token_router_of(weights, 2, 2);
  const MatrixD random = token_weights(weights, router, "random");
  const MatrixD permuted = token_weights(weights, router, "permuted");
  const MatrixD mean = token_weights(weights, router, "mean", true);
  for (Index head = 0; head < 2; ++head) {
    const VectorD scales = router.scales.row(head).transpose();
    std::vector<Index> order;
    for (Index token = 0; token < 30; ++token) {
      const auto size = [&](const MatrixD& of) -> VectorD {
        return of.col(token).segment(head * 4, 4).cwiseProduct(scales);
      };
      const VectorD own =
          weights.row(token).segment(head * 4, 4).cast<double>().transpose().cwiseProduct(scales);
      EXPECT_NEAR(size(random).norm(), own.norm(), 1e-12);
      EXPECT_NEAR(size(mean).norm(), own.norm(), 1e-12);
      for (Index j = 0; j < 4; ++j) {
        Index place = 0;
        EXPECT_LT((own.array() - size(permuted)(j)).abs().minCoeff(&place), 1e-12);
        if (token == 0) order.push_back(place);
        EXPECT_EQ(order[std::size_t(j)], place);
      }
    }
  }
  EXPECT_NE(VectorD(random.col(0)), VectorD(random.col(1)));
}

TEST(CounterfactualWeightsTest, TheIdentityOfAStreamAddsAllSources) {
  const MatrixF weights = MatrixF::Random(5, 3);
  TokenRouter router = token_router_of(weights, 1, 1);
  router.is_sum = true;
  EXPECT_EQ(token_weights(weights, router, "identity"), MatrixD::Ones(3, 5));
}

}  // namespace
}  // namespace lime
