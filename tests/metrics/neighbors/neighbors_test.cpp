// SPDX-License-Identifier: Apache-2.0
#include "metrics/neighbors/neighbors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/errors.h"
#include "metrics/random_matrix.h"
#include "support/refusal.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

MatrixF random_points(Eigen::Index rows, Eigen::Index cols, std::uint64_t seed) {
  return testing::random_matrix(rows, cols, seed, 0.5).cast<float>();
}

/// Returns all distances of one point in double, sorted: the oracle.
std::vector<std::pair<double, std::int32_t>> sorted_distances(const MatrixF& points,
                                                              Eigen::Index row) {
  std::vector<std::pair<double, std::int32_t>> all;
  for (Eigen::Index other = 0; other < points.rows(); ++other) {
    if (other == row) continue;
    all.emplace_back(
        (points.row(row).cast<double>() - points.row(other).cast<double>()).squaredNorm(),
        static_cast<std::int32_t>(other));
  }
  std::sort(all.begin(), all.end());
  return all;
}

void expect_exact(const MatrixF& points, std::int64_t k, double relative) {
  ThreadPool pool(2);
  const NeighborGraph graph = find_neighbors(points, k, {}, pool);
  ASSERT_EQ(graph.index.rows(), points.rows());
  ASSERT_EQ(graph.index.cols(), k);
  EXPECT_EQ(graph.search, NeighborSearch::kExact);
  EXPECT_EQ(graph.recall, 1.0);
  for (Eigen::Index row = 0; row < points.rows(); ++row) {
    const auto truth = sorted_distances(points, row);
    for (Eigen::Index i = 0; i < k; ++i) {
      const double expected = truth[static_cast<std::size_t>(i)].first;
      EXPECT_NEAR(graph.squared_distance(row, i), expected, relative * expected)
          << "row " << row << ", neighbour " << i;
    }
  }
}

TEST(FindNeighborsTest, FindsTheNearestInOrder) {
  for (const Eigen::Index rows : {2, 47, 48, 49, 400}) {
    for (const Eigen::Index cols : {1, 3, 200}) {
      expect_exact(random_points(rows, cols, 7), std::min<std::int64_t>(10, rows - 1), 2e-5);
    }
  }
}

TEST(FindNeighborsTest, LosesNoDigitsToACommonMean) {
  MatrixF points = random_points(300, 20, 1);
  points.array() += 1000.0F;
  expect_exact(points, 12, 2e-5);
}

TEST(FindNeighborsTest, TellsApartPointsThatAreNearEachOtherAndFarFromTheRest) {
  MatrixF points = random_points(200, 16, 2);
  points.topRows(60) *= 1e-4F;
  points.topRows(60).array() += 50.0F;
  expect_exact(points, 15, 2e-5);
}

TEST(FindNeighborsTest, HandlesVeryLargeAndVerySmallValues) {
  expect_exact(random_points(100, 8, 3) * 1e18F, 5, 2e-5);
  expect_exact(random_points(100, 8, 3) * 1e-15F, 5, 2e-5);
}

TEST(FindNeighborsTest, EqualPointsAreNeighboursAtDistanceZeroLowerIndexFirst) {
  MatrixF points = random_points(150, 33, 4);
  for (const int copy : {20, 90, 149}) points.row(copy) = points.row(3);
  ThreadPool pool(1);
  const NeighborGraph graph = find_neighbors(points, 4, {}, pool);
  EXPECT_THAT((std::vector<int>{graph.index(90, 0), graph.index(90, 1), graph.index(90, 2)}),
              ::testing::ElementsAre(3, 20, 149));
  EXPECT_EQ(graph.squared_distance(90, 2), 0.0);
  EXPECT_GT(graph.squared_distance(90, 3), 0.0);
  const MatrixF equal = MatrixF::Constant(60, 5, 2.5F);
  EXPECT_EQ(find_neighbors(equal, 7, {}, pool).squared_distance.maxCoeff(), 0.0);
}

TEST(FindNeighborsTest, GivesTheSameBitsForAnyNumberOfThreads) {
  const MatrixF points = random_points(900, 24, 5);
  for (const NeighborSearch search : {NeighborSearch::kExact, NeighborSearch::kInvertedFile}) {
    ThreadPool one(1);
    ThreadPool three(3);
    const NeighborOptions options{.search = search};
    const NeighborGraph a = find_neighbors(points, 20, options, one);
    const NeighborGraph b = find_neighbors(points, 20, options, three);
    EXPECT_EQ(a.index, b.index);
    EXPECT_EQ(a.squared_distance, b.squared_distance);
    EXPECT_EQ(a.recall, b.recall);
  }
}

TEST(FindNeighborsTest, InvertedFileReachesTheRecallAskedFor) {
  const MatrixF points = random_points(3000, 12, 6);
  ThreadPool pool(2);
  const NeighborGraph exact = find_neighbors(points, 15, {}, pool);
  const NeighborGraph graph = find_neighbors(
      points, 15, {.search = NeighborSearch::kInvertedFile, .target_recall = 0.95}, pool);
  EXPECT_EQ(graph.search, NeighborSearch::kInvertedFile);
  EXPECT_GE(graph.recall, 0.95);
  // The recall is measured on a sample of 1000 points: within 3 standard deviations of that over
  // all.
  const double whole = (graph.squared_distance.array() <=
                        (exact.squared_distance.col(14) * (1 + 1e-5)).replicate(1, 15).array())
                           .cast<double>()
                           .mean();
  EXPECT_NEAR(graph.recall, whole, 0.01);
}

TEST(FindNeighborsTest, AutoUsesGroupsOnlyWhereTheyTellWhatIsNear) {
  ThreadPool pool(2);
  const NeighborOptions options{.max_exact_work = 1.0};
  const MatrixF plane = testing::random_matrix(12000, 2, 9).cast<float>();
  EXPECT_EQ(find_neighbors(plane, 5, options, pool).search, NeighborSearch::kInvertedFile);
  const MatrixF ball = testing::random_matrix(1000, 64, 10).cast<float>();
  const NeighborGraph graph = find_neighbors(ball, 5, options, pool);
  EXPECT_EQ(graph.search, NeighborSearch::kExact);
  EXPECT_EQ(graph.index, find_neighbors(ball, 5, {}, pool).index);
}

TEST(FindNeighborsTest, NamesWhatIsWrong) {
  MatrixF points = random_points(30, 4, 8);
  ThreadPool pool(1);
  const auto message = [&](std::int64_t k) -> std::string {
    return testing::refusal_of<InvalidArgument>([&] { find_neighbors(points, k, {}, pool); });
  };
  EXPECT_EQ(message(30), "neighbours: must be in [1, 29] for 30 points, got 30");
  EXPECT_EQ(message(0), "neighbours: must be in [1, 29] for 30 points, got 0");
  points(7, 2) = std::numeric_limits<float>::quiet_NaN();
  points(9, 1) = std::numeric_limits<float>::infinity();
  EXPECT_THAT(message(3), HasSubstr("got nan in row 7, dimension 2"));
}

// Tokens that occur twice are nearly equal in early layers: float32 cannot order their distances.
TEST(ScaledRanksTest, NearlyEqualPointsHaveTheRanksOfDouble) {
  constexpr Eigen::Index kGroups = 20;
  constexpr Eigen::Index kCopies = 6;
  const MatrixF centres = random_points(kGroups, 64, 11);
  MatrixF points = random_points(kGroups * kCopies, 64, 12) * 1e-4F;
  for (Eigen::Index i = 0; i < points.rows(); ++i) points.row(i) += centres.row(i % kGroups);
  points.row(3 * kGroups) = points.row(2 * kGroups);  // equal points
  ThreadPool pool(2);
  for (const Eigen::Index step : {1, 2, 3}) {  // the neighbour of another space: some copy
    std::vector<std::int32_t> nearest;
    VectorD expected(points.rows());
    for (Eigen::Index i = 0; i < points.rows(); ++i) {
      nearest.push_back(static_cast<std::int32_t>((i + step * kGroups) % points.rows()));
      const std::vector<std::pair<double, std::int32_t>> sorted = sorted_distances(points, i);
      const double distance = std::find_if(sorted.begin(), sorted.end(), [&](const auto& one) {
                                return one.second == nearest.back();
                              })->first;
      const auto nearer = std::count_if(sorted.begin(), sorted.end(),
                                        [&](const auto& one) { return one.first < distance; });
      expected[i] = 2.0 * static_cast<double>(nearer + 1) / static_cast<double>(points.rows());
    }
    EXPECT_EQ(scaled_ranks(points, std::vector<std::vector<std::int32_t>>{nearest}, pool).front(),
              expected);
  }
}

}  // namespace
}  // namespace lime
