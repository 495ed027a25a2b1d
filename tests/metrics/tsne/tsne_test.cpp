// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/tsne.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/errors.h"
#include "metrics/random_matrix.h"
#include "metrics/tsne/affinities.h"
#include "metrics/tsne/clusters.h"
#include "metrics/tsne/embedding_checks.h"
#include "metrics/tsne/gradient_descent.h"
#include "metrics/tsne/initialization.h"
#include "metrics/tsne/trustworthiness.h"
#include "support/refusal.h"

namespace lime {
namespace {

using testing::affinities_of;
using testing::clusters;
using ::testing::HasSubstr;

std::string message_of(const MatrixF& points, const TsneOptions& options) {
  ThreadPool pool(1);
  return testing::refusal_of([&] { tsne(points, options, pool); });
}

TsneOptions short_run(TsneRepulsion repulsion) {
  TsneOptions options;
  options.perplexity = 10.0;
  options.iterations = 120;
  options.exaggeration_iterations = 60;
  options.repulsion = repulsion;
  return options;
}

TEST(TsneTest, WithoutIterationsGivesThePrincipalComponents) {
  const MatrixF points = clusters(90, 3, 8, 1);
  ThreadPool pool(1);
  const MatrixD found = tsne(points, {.perplexity = 10.0, .iterations = 0}, pool).embedding;
  const MatrixD centred = points.cast<double>().rowwise() - points.cast<double>().colwise().mean();
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(Eigen::MatrixXd(centred), Eigen::ComputeThinU);
  for (Eigen::Index i = 0; i < 2; ++i) {
    const Eigen::VectorXd own = found.col(i).normalized();
    EXPECT_NEAR(std::abs(own.dot(svd.matrixU().col(i))), 1.0, 1e-5) << i;
  }
}

/// Returns every kind of embedding that occurs in a run, and some that challenge the
/// approximations.
std::vector<MatrixD> embeddings(Eigen::Index num_points) {
  std::vector<MatrixD> result;
  for (const double scale : {1e-4, 0.05, 3.0, 40.0}) {
    result.push_back(scale * testing::random_matrix(num_points, 2, 5));
  }
  MatrixD far_outlier = testing::random_matrix(num_points, 2, 6);
  far_outlier.row(3) << 150.0, -20.0;
  result.push_back(far_outlier);
  MatrixD line = 10.0 * testing::random_matrix(num_points, 2, 7);
  line.col(1).setZero();
  result.push_back(line);
  MatrixD duplicates = 5.0 * testing::random_matrix(num_points, 2, 8);
  for (Eigen::Index i = 0; i < num_points / 2; ++i) duplicates.row(i) = duplicates.row(0);
  result.push_back(duplicates);
  return result;
}

MatrixD gradient_of(const Affinities& affinities, const MatrixD& embedding,
                    const TsneOptions& options, ThreadPool& pool) {
  return tsne_detail::GradientDescent(affinities, embedding, options, pool).gradient(1.0);
}

TEST(TsneGradientTest, ApproximationsHoldForEmbeddingsOfEverySize) {
  const Affinities affinities = affinities_of(clusters(700, 4, 6, 3), 15.0);
  ThreadPool pool(2);
  for (const MatrixD& embedding : embeddings(700)) {
    const MatrixD exact = gradient_of(affinities, embedding, {.theta = 0.0}, pool);
    const auto error = [&](TsneRepulsion repulsion) {
      const MatrixD gradient = gradient_of(affinities, embedding, {.repulsion = repulsion}, pool);
      return (gradient - exact).norm() / exact.norm();
    };
    const double extent = embedding.cwiseAbs().maxCoeff();
    EXPECT_LT(error(TsneRepulsion::kExact), 2e-5) << "extent " << extent;
    EXPECT_LT(error(TsneRepulsion::kBarnesHut), 2e-3) << "extent " << extent;
  }
}

TEST(TsneTest, SeparatesCloudsAndSaysHowItWent) {
  const MatrixF points = clusters(400, 4, 20, 4);
  ThreadPool pool(2);
  const TsneResult result = tsne(points, {.perplexity = 20.0}, pool);
  EXPECT_EQ(result.iterations, 1000);
  EXPECT_EQ(result.end, TsneEnd::kIterations);
  EXPECT_EQ(result.recall, 1.0);
  EXPECT_GT(result.optimization_seconds, 0.0);
  EXPECT_GT(trustworthiness(points, result.embedding, {}, pool), 0.9);
  // Every point is nearer to the mean of its own cluster than to any other.
  MatrixD means = MatrixD::Zero(4, 2);
  for (Eigen::Index i = 0; i < 400; ++i) means.row(i / 100) += result.embedding.row(i) / 100.0;
  for (Eigen::Index i = 0; i < 400; ++i) {
    Eigen::Index nearest = 0;
    (means.rowwise() - result.embedding.row(i)).rowwise().squaredNorm().minCoeff(&nearest);
    EXPECT_EQ(nearest, i / 100) << "point " << i;
  }
}

TEST(TsneTest, GivesTheSameBitsForAnyNumberOfThreads) {
  const MatrixF points = clusters(500, 3, 10, 5);
  for (const TsneRepulsion repulsion : {TsneRepulsion::kExact, TsneRepulsion::kBarnesHut}) {
    ThreadPool one(1);
    ThreadPool three(3);
    const TsneOptions options = short_run(repulsion);
    const TsneResult a = tsne(points, options, one);
    const TsneResult b = tsne(points, options, three);
    EXPECT_EQ(a.embedding, b.embedding) << enum_name(repulsion);
    EXPECT_EQ(a.kl_divergence, b.kl_divergence);
    EXPECT_EQ(a.repulsion, repulsion);
  }
}

TEST(TsneTest, SeedsMatterForRandomStarts) {
  const MatrixF points = clusters(100, 2, 4, 6);
  TsneOptions options = short_run(TsneRepulsion::kExact);
  options.init = TsneInit::kRandom;
  ThreadPool pool(2);
  const MatrixD first = tsne(points, options, pool).embedding;
  EXPECT_EQ(first, tsne(points, options, pool).embedding);
  options.seed = 1;
  EXPECT_NE(first, tsne(points, options, pool).embedding);
}

TEST(TsneTest, CallbacksSeeTheRunAndCanEndIt) {
  const MatrixF points = clusters(100, 2, 4, 7);
  ThreadPool pool(2);
  std::vector<std::int64_t> seen;
  const auto until_150 = [&](const TsneStep& step) {
    seen.push_back(step.iteration);
    EXPECT_EQ(step.iterations, 1000);
    EXPECT_EQ(step.embedding.rows(), 100);
    EXPECT_GT(step.kl_divergence, 0.0);
    return step.iteration < 150;
  };
  const TsneResult result = tsne(points, {.perplexity = 10.0}, pool, std::nullopt, until_150);
  EXPECT_THAT(seen, ::testing::ElementsAre(50, 100, 150));
  EXPECT_EQ(result.iterations, 150);
  EXPECT_EQ(result.end, TsneEnd::kCallback);
}

/// One cluster: two that share no neighbours drift apart for ever, at an ever lower divergence.
TsneResult long_run_of_a_cluster(double min_grad_norm, std::int64_t patience) {
  TsneOptions options;
  options.perplexity = 15.0;
  options.iterations = 20'000;
  options.min_grad_norm = min_grad_norm;
  options.patience = patience;
  ThreadPool pool(2);
  return tsne(clusters(60, 1, 4, 8), options, pool);
}

TEST(TsneTest, EndsWhenTheDivergenceNoLongerFalls) {
  const TsneResult result = long_run_of_a_cluster(0.0, 100);
  EXPECT_EQ(result.end, TsneEnd::kNoProgress);
  EXPECT_LT(result.iterations, 5'000);
  const TsneResult patient = long_run_of_a_cluster(0.0, 20'000);
  EXPECT_EQ(patient.end, TsneEnd::kIterations);
  EXPECT_NEAR(result.kl_divergence, patient.kl_divergence, 1e-3) << "nothing was left to gain";
}

TEST(TsneTest, EndsWhenTheGradientIsSmallButNotDuringTheExaggeration) {
  const TsneResult result = long_run_of_a_cluster(1e-4, 20'000);
  EXPECT_EQ(result.end, TsneEnd::kGradient);
  EXPECT_LE(result.grad_norm, 1e-4);
  EXPECT_LT(result.iterations, 5'000);
  // Every gradient is below this limit: the run ends at the first check after the exaggeration.
  EXPECT_EQ(long_run_of_a_cluster(1e3, 20'000).iterations, 550);
}

TEST(TsneTest, StopsOnRequest) {
  std::stop_source source;
  const auto stop_at_once = [&](const TsneStep&) {
    source.request_stop();
    return true;
  };
  ThreadPool pool(2);
  EXPECT_THROW(tsne(clusters(100, 2, 4, 9), {.perplexity = 10.0}, pool, std::nullopt, stop_at_once,
                    source.get_token()),
               Interrupted);
}

/// Returns the correlation of the coordinates of two embeddings, both axes together.
double correlation(const MatrixD& a, const MatrixD& b) {
  const MatrixD centred_a = a.rowwise() - a.colwise().mean();
  const MatrixD centred_b = b.rowwise() - b.colwise().mean();
  return centred_a.cwiseProduct(centred_b).sum() / (centred_a.norm() * centred_b.norm());
}

TEST(TsneTest, StaysNearTheStartThatItIsGiven) {
  const MatrixF points = clusters(240, 12, 10, 10);
  TsneOptions options = short_run(TsneRepulsion::kExact);
  options.iterations = 400;
  ThreadPool pool(2);
  const MatrixD first = tsne(points, options, pool).embedding;
  const auto likeness = [&](const MatrixD& start) {
    return correlation(tsne(points, options, pool, start).embedding, first);
  };
  const double from_first = likeness(rescaled_initialization(first));
  EXPECT_GT(from_first, 0.9);
  // A start is followed wherever it points, not only where the principal components point.
  Eigen::Matrix2d turn;
  turn << 0.0, 1.0, 1.0, 0.0;
  EXPECT_LT(likeness(rescaled_initialization(first * turn)), 0.5);
  EXPECT_GT(
      correlation(tsne(points, options, pool, rescaled_initialization(first * turn)).embedding,
                  first * turn),
      0.9);
  // Twelve randomly placed clusters correlate only by chance, with a deviation of about 0.2.
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    EXPECT_GT(from_first, likeness(random_initialization(240, seed)) + 0.4) << "seed " << seed;
  }
}

/// Returns points of one cluster whose neighbours are well connected, which early exaggeration
/// contracts without end, with outliers of `factor` times the norm.
MatrixF one_cluster(Eigen::Index num_points, Eigen::Index num_outliers, float factor,
                    std::uint64_t seed) {
  MatrixF points = testing::random_matrix(num_points, 40, seed).cast<float>();
  points.topRows(num_outliers) *= factor;
  return points;
}

TEST(TsneTest, EmbedsWellConnectedPointsAndOutliersLayerAfterLayer) {
  ThreadPool pool(2);
  for (const TsneRepulsion repulsion : {TsneRepulsion::kExact, TsneRepulsion::kBarnesHut}) {
    for (const float factor : {1.0F, 10.0F, 1000.0F}) {
      std::optional<MatrixD> start;
      for (const std::uint64_t seed : {1, 2, 3}) {
        const TsneResult result =
            tsne(one_cluster(200, 3, factor, seed), {.repulsion = repulsion}, pool, start);
        // 1.68 at the start; every run that does not stall ends between 1.30 and 1.36.
        EXPECT_LT(result.kl_divergence, 1.4) << "outliers of " << factor << ", seed " << seed;
        EXPECT_EQ(extent_fault(result.embedding), "");
        start = rescaled_initialization(result.embedding);
      }
    }
  }
}

TEST(TsneTest, RefusesWhatDiverged) {
  EXPECT_THAT(message_of(one_cluster(200, 0, 1.0F, 4), {.learning_rate = 1e6}),
              HasSubstr("the optimisation diverged"));
}

TEST(TsneTest, EmbedsDuplicatesAndPointsOnALine) {
  ThreadPool pool(2);
  MatrixF points = clusters(120, 3, 5, 11);
  for (Eigen::Index i = 0; i < 60; ++i) points.row(i) = points.row(0);
  const TsneOptions options = short_run(TsneRepulsion::kExact);
  EXPECT_TRUE(tsne(points, options, pool).embedding.allFinite());
  MatrixF line = MatrixF::Zero(100, 3);
  for (Eigen::Index i = 0; i < 100; ++i) line(i, 1) = static_cast<float>(i);
  const MatrixD embedding = tsne(line, options, pool).embedding;
  EXPECT_TRUE(embedding.allFinite());
  EXPECT_GT(embedding.col(1).cwiseAbs().maxCoeff(), 1e-3) << "left the line";
}

TEST(TsneTest, NamesWhatIsWrong) {
  MatrixF points = clusters(100, 2, 4, 12);
  EXPECT_EQ(message_of(points, {.perplexity = 40.0}),
            "tsne: perplexity must be <= (num_points - 1) / 3 = 33.0 for 100 points, got 40");
  EXPECT_EQ(message_of(points, {.perplexity = 0.5}), "perplexity: must be >= 1, got 0.5");
  EXPECT_EQ(message_of(points, {.theta = 1.5}), "theta: must be in [0, 1], got 1.5");
  EXPECT_EQ(message_of(points, {.iterations = -1}), "iterations: must be >= 0, got -1");
  EXPECT_EQ(message_of(MatrixF::Constant(50, 3, 1.5F), {.perplexity = 5.0}),
            "tsne: all 50 rows are equal; there is nothing to embed");
  for (const TsneRepulsion repulsion : {TsneRepulsion::kExact, TsneRepulsion::kBarnesHut}) {
    EXPECT_THAT(message_of(points, {.repulsion = repulsion, .learning_rate = 1e308}),
                HasSubstr("the optimisation diverged"));
  }
  points(17, 3) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(message_of(points, {}), HasSubstr("got nan in row 17, dimension 3"));
}

TEST(TrustworthinessTest, IsOneForADrawingOfPlanePoints) {
  const MatrixD plane = testing::random_matrix(120, 2, 13);
  ThreadPool pool(2);
  // Two distances that are equal in float32 may change ranks.
  EXPECT_GT(trustworthiness(plane.cast<float>(), plane, {}, pool), 0.9999);
  EXPECT_NEAR(trustworthiness(plane.cast<float>(), testing::random_matrix(120, 2, 14), {}, pool),
              0.5, 0.1);
  for (const std::int64_t neighbors : {std::int64_t{0}, std::int64_t{60}, INT64_MAX}) {
    EXPECT_THROW(trustworthiness(plane.cast<float>(), plane, {.num_neighbors = neighbors}, pool),
                 InvalidArgument);
  }
}

}  // namespace
}  // namespace lime
