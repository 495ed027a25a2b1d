// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/layer_geometry.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "core/errors.h"
#include "metrics/random_matrix.h"
#include "support/refusal.h"

namespace lime {
namespace {

/// Sequences of one layer in memory.
struct Layer {
  MatrixF rows;
  std::vector<std::int64_t> offsets = {0};

  SequenceSource source() const {
    return {static_cast<std::int64_t>(offsets.size()) - 1,
            [this](std::int64_t index, MatrixF& out) {
              const auto i = static_cast<std::size_t>(index);
              out = rows.middleRows(offsets[i], offsets[i + 1] - offsets[i]);
            }};
  }
  LayerGeometry measure(const LayerGeometryOptions& options, int threads = 2) const {
    ThreadPool pool(threads);
    return layer_geometry(source(), offsets, mean_of_rows(source(), pool), options, pool);
  }
};

Layer random_layer(const std::vector<std::int64_t>& lengths, Eigen::Index dim) {
  Layer layer;
  for (const std::int64_t length : lengths) {
    layer.offsets.push_back(layer.offsets.back() + length);
  }
  layer.rows = (testing::random_matrix(layer.offsets.back(), dim, 1, 0.5).array() + 0.5)
                   .matrix()
                   .cast<float>();
  return layer;
}

LayerGeometryOptions everything() {
  LayerGeometryOptions options;
  options.spectrum_of_sequences = true;
  options.sample = {0, 3, 11, 12, 40};
  return options;
}

std::string message(const Layer& layer) {
  return testing::refusal_of<InvalidArgument>([&] { layer.measure(everything()); });
}

TEST(LayerGeometryTest, GivesTheSameBitsForAnyNumberOfThreads) {
  // Sequences of various lengths: shorter and longer than dim, and than a batch.
  const Layer layer = random_layer({12, 700, 5, 30, 45, 3, 2, 515, 16, 16, 16, 16}, 16);
  const LayerGeometry one = layer.measure(everything(), 1);
  const LayerGeometry three = layer.measure(everything(), 3);
  EXPECT_EQ(one.spectrum.ranks.value().effective_rank, three.spectrum.ranks.value().effective_rank);
  EXPECT_EQ(one.spectrum.participation_ratio.value(), three.spectrum.participation_ratio.value());
  EXPECT_EQ(one.directions.mean_cosine().value(), three.directions.mean_cosine().value());
  EXPECT_EQ(one.centred_directions.mean_cosine().value(),
            three.centred_directions.mean_cosine().value());
  for (std::size_t i = 0; i < one.sequences.size(); ++i) {
    EXPECT_EQ(one.sequences[i].spectrum.ranks.value().rankme,
              three.sequences[i].spectrum.ranks.value().rankme);
  }
}

TEST(LayerGeometryTest, ReturnsTheRowsAskedFor) {
  const Layer layer = random_layer({12, 29}, 6);
  const LayerGeometry found = layer.measure(everything());
  ASSERT_EQ(found.sample.rows(), 5);
  const std::vector<std::int64_t> sample = everything().sample;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    EXPECT_EQ(found.sample.row(static_cast<Eigen::Index>(i)), layer.rows.row(sample[i]));
  }
}

TEST(LayerGeometryTest, AllRowsEqualLeavesUndefinedWhatIsUndefined) {
  Layer layer = random_layer({12, 29}, 6);
  layer.rows = MatrixF::Constant(41, 6, 0.3F);
  const LayerGeometry found = layer.measure(everything());
  EXPECT_NEAR(found.spectrum.ranks.value().effective_rank, 1.0, 1e-6);
  EXPECT_EQ(found.spectrum.ranks.value().numerical_rank, 1.0);
  EXPECT_FALSE(found.spectrum.participation_ratio.has_value());
  EXPECT_NEAR(found.directions.mean_cosine().value(), 1.0, 1e-12);
  EXPECT_FALSE(found.centred_directions.mean_cosine().has_value());
  EXPECT_NEAR(found.sequences[0].similarity.rank_one_residual.value(), 0.0, 1e-12);
  EXPECT_FALSE(found.sequences[0].curvature.degrees.has_value());
}

TEST(LayerGeometryTest, TwoTokensHaveNoCurvatureAndOneIsRefused) {
  const LayerGeometry found = random_layer({2, 50}, 6).measure(everything());
  EXPECT_FALSE(found.sequences[0].curvature.degrees.has_value());
  EXPECT_TRUE(found.sequences[1].curvature.degrees.has_value());
  EXPECT_EQ(message(random_layer({50, 1, 4}, 6)),
            "geometry: sequence 1: must have at least 2 tokens, got 1");
}

TEST(LayerGeometryTest, NamesTheFirstPlaceThatIsNotFinite) {
  Layer layer = random_layer({12, 29}, 6);
  layer.rows(12 + 7, 4) = std::numeric_limits<float>::quiet_NaN();
  layer.rows(12 + 9, 1) = std::numeric_limits<float>::infinity();
  EXPECT_EQ(message(layer),
            "geometry: sequence 1: representations must be finite, got nan at token 7, dimension "
            "4; check the model for overflow, or capture in a wider type");
}

}  // namespace
}  // namespace lime
