// SPDX-License-Identifier: Apache-2.0
// Compares with tests/golden/geometry/make_geometry.py: numpy, scipy, torch and scikit-dimension.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "metrics/geometry/intrinsic_dimension.h"
#include "metrics/geometry/layer_geometry.h"
#include "metrics/geometry/lidar.h"
#include "metrics/geometry/similarity.h"
#include "store/hdf5/hdf5_file.h"
#include "support/test_data.h"

namespace lime {
namespace {

double number(const Hdf5File& file, const std::string& name) {
  return file.read<double>(name).at(0);
}

/// A layer of the golden file: as many rows as dimensions in each sequence, fewer, or fewer in all.
class GeometryGoldenTest : public ::testing::TestWithParam<std::string> {
 protected:
  GeometryGoldenTest()
      : file_(testing::golden_file("geometry/geometry.h5")),
        rows_(file_.read_matrix(GetParam() + "/rows")),
        offsets_(file_.read<std::int64_t>(GetParam() + "/offsets")) {}

  LayerGeometry measure(const LayerGeometryOptions& options) const {
    ThreadPool pool(2);
    const SequenceSource source{
        static_cast<std::int64_t>(offsets_.size()) - 1, [&](std::int64_t index, MatrixF& rows) {
          const auto i = static_cast<std::size_t>(index);
          rows = rows_.middleRows(offsets_[i], offsets_[i + 1] - offsets_[i]);
        }};
    return layer_geometry(source, offsets_, mean_of_rows(source, pool), options, pool);
  }

  void expect_ranks(const SpectrumMeasures& ranks, const std::string& where, std::size_t i) const {
    const auto expected = [&](const std::string& name) {
      return file_.read<double>(GetParam() + "/" + where + name).at(i);
    };
    // Singular values below 1e-8 of the largest are rounding errors in a Gram matrix in double; the
    // cases with fewer rows than dimensions have one such value after centring.
    constexpr double kTolerance = 1e-6;
    EXPECT_NEAR(ranks.effective_rank, expected("effective_rank"), kTolerance);
    EXPECT_NEAR(ranks.rankme, expected("rankme"), kTolerance);
    EXPECT_NEAR(ranks.stable_rank, expected("stable_rank"), 1e-9);
    EXPECT_EQ(ranks.numerical_rank, expected("numerical_rank"));
  }

  Hdf5File file_;
  MatrixF rows_;
  std::vector<std::int64_t> offsets_;
};

TEST_P(GeometryGoldenTest, SequencesEqualTheirReferences) {
  LayerGeometryOptions options;
  options.spectrum_of_sequences = true;
  options.massive_options = {.threshold = 20.0, .ratio = 25.0};
  const LayerGeometry layer = measure(options);
  for (std::size_t i = 0; i < layer.sequences.size(); ++i) {
    SCOPED_TRACE(i);
    const SequenceGeometry& sequence = layer.sequences[i];
    const auto expected = [&](const std::string& name) {
      return file_.read<double>(GetParam() + "/sequences/" + name).at(i);
    };
    expect_ranks(sequence.spectrum.ranks.value(), "sequences/", i);
    EXPECT_NEAR(sequence.spectrum.participation_ratio.value(), expected("participation_ratio"),
                1e-9);
    const SequenceSimilarity& similarity = sequence.similarity;
    EXPECT_NEAR(similarity.mean_token_similarity.value(), expected("mean_token_similarity"), 1e-12);
    EXPECT_NEAR(similarity.mean_cosine.value(), expected("mean_cosine"), 1e-12);
    EXPECT_NEAR(similarity.rank_one_residual.value(), expected("rank_one_residual"), 1e-12);
    EXPECT_NEAR(similarity.rank_one_residual_1inf.value(), expected("rank_one_residual_1inf"),
                1e-12);
    EXPECT_NEAR(sequence.curvature.degrees.value(), expected("curvature"), 1e-9);
    EXPECT_NEAR(sequence.massive.share, expected("massive_share"), 1e-12);
    EXPECT_NEAR(sequence.massive.token_share, expected("massive_token_share"), 1e-12);
    EXPECT_EQ(sequence.massive.median, expected("median"));
    EXPECT_NEAR(sequence.massive.largest_ratio, expected("largest_ratio"), 1e-9);
  }
}

TEST_P(GeometryGoldenTest, AllRowsEqualTheirReferences) {
  const LayerGeometry layer = measure({});
  expect_ranks(layer.spectrum.ranks.value(), "all/", 0);
  const std::string all = GetParam() + "/all/";
  EXPECT_NEAR(layer.spectrum.participation_ratio.value(),
              number(file_, all + "participation_ratio"), 1e-9);
  EXPECT_NEAR(layer.directions.mean_cosine().value(), number(file_, all + "mean_cosine"), 1e-12);
  EXPECT_NEAR(layer.centred_directions.mean_cosine().value(),
              number(file_, all + "centred_mean_cosine"), 1e-12);
}

TEST_P(GeometryGoldenTest, CentredRanksEqualTheirReferences) {
  LayerGeometryOptions options;
  options.spectrum_of_sequences = true;
  options.centering = Centering::kAlways;
  const LayerGeometry layer = measure(options);
  expect_ranks(layer.spectrum.ranks.value(), "all/centred_", 0);
  for (std::size_t i = 0; i < layer.sequences.size(); ++i) {
    expect_ranks(layer.sequences[i].spectrum.ranks.value(), "sequences/centred_", i);
  }
}

TEST_P(GeometryGoldenTest, OtherEpsilonOfRankMe) {
  LayerGeometryOptions options;
  options.spectrum_options.rankme_epsilon = 1e-5;
  EXPECT_NEAR(measure(options).spectrum.ranks.value().rankme,
              number(file_, GetParam() + "/all/rankme_1e-5"), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Layers, GeometryGoldenTest, ::testing::Values("tall", "wide", "few"),
                         [](const auto& suite) { return suite.param; });

TEST(SimilarityGoldenTest, EqualsSumsOverKernelsAndScipysProcrustes) {
  const Hdf5File file(testing::golden_file("geometry/geometry.h5"));
  const ComparableRows x = comparable_rows(file.read_matrix("similarity/x"));
  const ComparableRows y = comparable_rows(file.read_matrix("similarity/y"));
  RowComparison comparison;
  for (const RowSimilarity& found : {comparison.compare(x, y), comparison.compare(y, x)}) {
    EXPECT_NEAR(found.cka, number(file, "similarity/cka"), 1e-12);
    EXPECT_NEAR(found.cka_debiased.value(), number(file, "similarity/cka_debiased"), 1e-12);
    EXPECT_NEAR(found.procrustes, number(file, "similarity/procrustes"), 1e-9);
  }
}

TEST(IntrinsicDimensionGoldenTest, EqualsScikitDimensionAfterDroppingDuplicates) {
  const Hdf5File file(testing::golden_file("geometry/geometry.h5"));
  const MatrixF points = file.read_matrix("dimension/points");
  ThreadPool pool(2);
  IntrinsicDimensionOptions options;
  const IntrinsicDimension linear = intrinsic_dimension(points, options, pool);
  EXPECT_EQ(linear.points, 500);
  EXPECT_EQ(linear.duplicates, 25);
  EXPECT_NEAR(linear.two_nn.value(), number(file, "dimension/two_nn_linear"), 1e-9);
  EXPECT_NEAR(linear.mle.value(), number(file, "dimension/mle_inverse"), 1e-9);
  options.two_nn_fit = TwoNnFit::kMl;
  options.mle_average = MleAverage::kDirect;
  const IntrinsicDimension other = intrinsic_dimension(points, options, pool);
  EXPECT_NEAR(other.two_nn.value(), number(file, "dimension/two_nn_ml"), 1e-9);
  EXPECT_NEAR(other.mle.value(), number(file, "dimension/mle_direct"), 1e-9);
}

TEST(LidarGoldenTest, EqualsScipysGeneralisedEigenvalues) {
  const Hdf5File file(testing::golden_file("geometry/geometry.h5"));
  const std::int64_t classes = file.read<std::int64_t>("lidar/num_classes").at(0);
  EXPECT_NEAR(lidar(file.read_matrix("lidar/rows"), classes), number(file, "lidar/value"), 1e-9);
}

}  // namespace
}  // namespace lime
