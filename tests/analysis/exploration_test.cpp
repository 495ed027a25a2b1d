// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "analysis/engine/run_analysis.h"
#include "analysis/entropy/entropy_analysis.h"
#include "analysis/entropy/layer_spectra.h"
#include "analysis/tsne/embedding_exploration.h"
#include "analysis/write_capture.h"
#include "core/errors.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/entropy/matrix_entropy.h"
#include "support/statistics.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

class ExplorationTest : public ::testing::Test {
 protected:
  CaptureReader capture(const testing::SmallCapture& small) const {
    testing::write_capture(folder_ / "run.h5", small);
    return CaptureReader(folder_ / "run.h5");
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ExplorationTest, ALayersSpectrumIsThatOfTheCovarianceOfItsStandardizedRows) {
  const CaptureReader reader = capture(testing::example_capture());
  const LayerSpectra layer = layer_spectra(reader, "hidden", 1, std::vector<double>(3, 1.0));
  const MatrixF rows = reader.read_all("hidden", 1);
  const MatrixD z = standardize(rows, make_standardization(testing::statistics_of(rows)));
  const Eigen::SelfAdjointEigenSolver<MatrixD> solver(z.transpose() * z);
  const VectorD expected = solver.eigenvalues().reverse() / solver.eigenvalues().sum();
  ASSERT_EQ(layer.spectrum.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(layer.spectrum[i], expected(static_cast<Eigen::Index>(i)), 1e-12);
  }
}

TEST_F(ExplorationTest, ExtremesAreTheSequencesOfLowestAndHighestEntropy) {
  const CaptureReader reader = capture(testing::example_capture());
  EntropyAnalysisOptions options;
  options.captures.captures = {folder_ / "run.h5"};
  const AnalysisResult measured = compute(prepare_entropy(options, {}), {});
  EXPECT_TRUE(entropies_of_layer(measured, "values", 2).empty());
  const LayerSpectra layer =
      layer_spectra(reader, "values", 0, entropies_of_layer(measured, "values", 0), 2);
  const MatrixF rows = reader.read_all("values", 0);
  const MatrixD z = standardize(rows, make_standardization(testing::statistics_of(rows)));
  std::vector<double> entropies;
  for (const auto& [first, count] : {std::pair(0, 5), std::pair(5, 8), std::pair(13, 3)}) {
    const MatrixD part = z.middleRows(first, count);
    entropies.push_back(matrix_renyi_entropy(part, 0.5));
  }
  ASSERT_EQ(layer.lowest.size(), 2U);
  ASSERT_EQ(layer.highest.size(), 2U);
  const auto [low, high] = std::minmax_element(entropies.begin(), entropies.end());
  EXPECT_EQ(layer.lowest[0].sequence, low - entropies.begin());
  EXPECT_NEAR(layer.lowest[0].entropy, *low, 1e-12);
  EXPECT_EQ(layer.highest[0].sequence, high - entropies.begin());
  // exp of the entropy of order 1/2 of its spectrum is (sum sqrt p)^2.
  double root = 0.0;
  for (const double share : layer.lowest[0].spectrum) root += std::sqrt(share);
  EXPECT_NEAR(2.0 * std::log(root), layer.lowest[0].entropy, 1e-9);
  EXPECT_THAT(layer.lowest[0].text, HasSubstr("ids "));
}

TEST_F(ExplorationTest, RefusesCapturesOfSomeTokens) {
  testing::SmallCapture small = testing::example_capture();
  small.class_names = {" is"};
  const CaptureReader reader = capture(small);
  try {
    layer_spectra(reader, "values", 0, std::vector<double>(3, 1.0));
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("needs every token of a sequence"));
  }
}

CaptureEmbeddings two_layers(const MatrixF& first, const MatrixF& second) {
  CaptureEmbeddings capture;
  capture.layers = {{"hidden", 0, first, 0.5}, {"hidden", 3, second, 0.7}};
  return capture;
}

TEST_F(ExplorationTest, AlignedLayersLieOnEachOtherWhereTheyAreTheSameDrawing) {
  const MatrixF points = testing::random_matrix(50, 2, 1);
  Eigen::Matrix2f turn;
  turn << 0.6F, 0.8F, 0.8F, -0.6F;  // reflection and rotation
  MatrixF moved = 3.0F * points * turn;
  moved.rowwise() += Eigen::RowVector2f(5.0F, -2.0F);
  for (const MatrixF& second : {moved, MatrixF(2.0F * points)}) {
    CaptureEmbeddings capture = two_layers(points, second);
    EXPECT_TRUE(align_layers(capture).empty());
    const float apart =
        (capture.layers[0].coordinates - capture.layers[1].coordinates).cwiseAbs().maxCoeff();
    EXPECT_LT(apart, 1e-5F);  // rounding to float
  }
}

/// As older versions could write them.
TEST(EmbeddingExplorationTest, NamesCollapsedLayersAndAlignsTheOthers) {
  const MatrixF points = testing::random_matrix(40, 2, 5).cast<float>();
  CaptureEmbeddings capture;
  for (const float scale : {1.0F, 1e-14F, 2.0F}) {
    capture.layers.push_back({"hidden", static_cast<int>(capture.layers.size()), scale * points});
  }
  const std::vector<LayerFault> faults = align_layers(capture);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].layer, 1);
  EXPECT_THAT(faults[0].what, HasSubstr("the points coincide"));
  const float apart =
      (capture.layers[0].coordinates - capture.layers[2].coordinates).cwiseAbs().maxCoeff();
  EXPECT_LT(apart, 1e-5F);  // rounding to float
}

/// The explorer draws all layers at one scale.
TEST(EmbeddingExplorationTest, LayersThatDivergedAreNotLargerThanTheOthers) {
  const MatrixF points = testing::random_matrix(40, 2, 5).cast<float>();
  for (const float scale : {1e10F, 2e3F, 2e-4F}) {
    CaptureEmbeddings capture = two_layers(points, scale * points);
    const std::vector<LayerFault> faults = align_layers(capture);
    ASSERT_EQ(faults.size(), 1U) << scale;
    EXPECT_EQ(faults[0].site, "hidden");
    EXPECT_EQ(faults[0].layer, 3);
    EXPECT_THAT(faults[0].what, HasSubstr(scale == 1e10F ? "the points are thrown apart"
                                                         : "times that of the previous layer"));
    EXPECT_LT(capture.layers[1].coordinates.norm(), 1.001F * capture.layers[0].coordinates.norm());
  }
}

TEST_F(ExplorationTest, NearestRowsAreThoseWithTheLargestCosine) {
  const CaptureReader reader = capture(testing::example_capture());
  const MatrixF rows = reader.read_all("hidden", 0);
  const std::vector<std::int64_t> candidates = {0, 2, 3, 7, 9, 15};
  const std::vector<NearRow> near = nearest_rows(reader, "hidden", 0, 7, candidates, 3);
  ASSERT_EQ(near.size(), 3U);
  std::vector<std::pair<double, std::int64_t>> expected;
  for (const std::int64_t row : candidates) {
    if (row == 7) continue;
    const VectorD a = rows.row(row).cast<double>().normalized();
    const VectorD b = rows.row(7).cast<double>().normalized();
    expected.emplace_back((a - b).norm(), row);
  }
  std::sort(expected.begin(), expected.end());
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(near[i].row, expected[i].second);
    EXPECT_NEAR(near[i].distance, expected[i].first, 1e-12);
  }
  EXPECT_THROW(nearest_rows(reader, "hidden", 0, 16, candidates, 3), InvalidArgument);
}

}  // namespace
}  // namespace lime
