// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne/embedding_alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/tsne/nearest_rows.h"
#include "analysis/write_capture.h"
#include "core/errors.h"
#include "support/test_data.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

CaptureEmbeddings two_layers(const MatrixF& first, const MatrixF& second) {
  CaptureEmbeddings capture;
  capture.layers = {{"hidden", 0, first, 0.5}, {"hidden", 3, second, 0.7}};
  return capture;
}

TEST(EmbeddingAlignmentTest, AlignedLayersLieOnEachOtherWhereTheyAreTheSameDrawing) {
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
TEST(EmbeddingAlignmentTest, NamesCollapsedLayersAndAlignsTheOthers) {
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
TEST(EmbeddingAlignmentTest, LayersThatDivergedAreNotLargerThanTheOthers) {
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

TEST(NearestRowsTest, AreThoseWithTheLargestCosine) {
  const testing::TemporaryFolder folder;
  testing::write_capture(folder / "run.h5", testing::example_capture());
  const CaptureReader reader(folder / "run.h5");
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
