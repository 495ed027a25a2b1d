// SPDX-License-Identifier: Apache-2.0
#include "metrics/tsne/affinities.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>

#include "core/matrix.h"
#include "core/threads/thread_pool.h"
#include "metrics/neighbors/neighbors.h"
#include "metrics/tsne/clusters.h"

namespace lime {
namespace {

using testing::affinities_of;
using testing::clusters;

TEST(AffinitiesTest, RowsHaveThePerplexityAskedFor) {
  const MatrixF points = clusters(200, 3, 8, 1);
  ThreadPool pool(2);
  const NeighborGraph graph = find_neighbors(points, 61, {}, pool);
  const MatrixD conditional = conditional_probabilities(graph.squared_distance, 20.0, pool);
  for (Eigen::Index row = 0; row < conditional.rows(); ++row) {
    const auto p = conditional.row(row).array();
    EXPECT_NEAR(p.sum(), 1.0, 1e-12);
    EXPECT_NEAR(-(p * (p + 1e-300).log()).sum(), std::log(20.0), 1.1e-5);
  }
}

TEST(AffinitiesTest, SpreadEvenlyOverMoreDuplicatesThanThePerplexity) {
  MatrixD distances(1, 6);
  distances << 0.0, 0.0, 0.0, 0.0, 1.0, 2.0;
  ThreadPool pool(1);
  const MatrixD conditional = conditional_probabilities(distances, 2.0, pool);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(conditional(0, i), 0.25, 1e-12);
  EXPECT_NEAR(conditional(0, 4) + conditional(0, 5), 0.0, 1e-12);
}

TEST(AffinitiesTest, AreSymmetricAndSumToOne) {
  const Affinities affinities = affinities_of(clusters(150, 2, 5, 2), 10.0);
  MatrixD dense = MatrixD::Zero(150, 150);
  for (std::size_t row = 0; row < 150; ++row) {
    for (auto i = affinities.offset[row]; i < affinities.offset[row + 1]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      dense(static_cast<Eigen::Index>(row), affinities.column[at]) = affinities.value[at];
    }
  }
  EXPECT_NEAR(dense.sum(), 1.0, 1e-12);
  EXPECT_LT((dense - dense.transpose()).cwiseAbs().maxCoeff(), 1e-18);
  EXPECT_EQ(dense.diagonal().cwiseAbs().maxCoeff(), 0.0);
}

}  // namespace
}  // namespace lime
