// SPDX-License-Identifier: Apache-2.0
// Compares with tests/golden/geometry/make_geometry.py: numpy, scipy, torch and scikit-dimension,
// and with make_measures.py: numpy, torch and scikit-learn.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/json.h"
#include "metrics/geometry/clustered_mean.h"
#include "metrics/geometry/first_token.h"
#include "metrics/geometry/intrinsic_dimension.h"
#include "metrics/geometry/layer_change.h"
#include "metrics/geometry/layer_geometry.h"
#include "metrics/geometry/sequence_similarity.h"
#include "metrics/geometry/similarity.h"
#include "metrics/geometry/spectrum.h"
#include "metrics/geometry/views.h"
#include "metrics/neighbors/neighbors.h"
#include "store/hdf5/hdf5_file.h"
#include "support/refusal.h"
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

/// The layer "tall", with the references of make_measures.py.
class MeasuresGoldenTest : public ::testing::Test {
 protected:
  static double number(const std::string& name, const Json& object) { return object.at(name); }
  LayerGeometry measure(const LayerGeometryOptions& options) const {
    ThreadPool pool(2);
    const SequenceSource source{
        static_cast<std::int64_t>(offsets_.size()) - 1, [&](std::int64_t index, MatrixF& rows) {
          const auto i = static_cast<std::size_t>(index);
          rows = rows_.middleRows(offsets_[i], offsets_[i + 1] - offsets_[i]);
        }};
    return layer_geometry(source, offsets_, mean_of_rows(source, pool), options, pool);
  }

  Hdf5File file_{testing::golden_file("geometry/geometry.h5")};
  MatrixF rows_ = file_.read_matrix("tall/rows");
  std::vector<std::int64_t> offsets_ = file_.read<std::int64_t>("tall/offsets");
  Json golden_ = read_json_file(testing::golden_file("geometry/measures.json"));
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

TEST_F(MeasuresGoldenTest, FirstTokensEqualSvdAndTorchMedian) {
  LayerGeometryOptions options;
  options.first_token = true;
  const LayerGeometry layer = measure(options);
  for (std::size_t i = 0; i < layer.sequences.size(); ++i) {
    const Json& expected = golden_.at("first_token").at(i);
    const FirstToken& found = layer.sequences[i].first_token;
    EXPECT_NEAR(found.norm_ratio.value(), number("first_norm_ratio", expected), 1e-12);
    EXPECT_NEAR(found.top_share.value(), number("top_share", expected), 1e-10);
    EXPECT_NEAR(found.top_share_rest.value(), number("top_share_rest", expected), 1e-10);
  }
}

TEST_F(MeasuresGoldenTest, PowerLawsEqualWeightedRegressionOfScikitLearn) {
  for (const Json& expected : golden_.at("power_law")) {
    LayerGeometryOptions options;
    options.spectrum_of_sequences = true;
    options.spectrum_options.power_law = {.first = expected.at("first"),
                                          .last = expected.at("last")};
    const LayerGeometry layer = measure(options);
    EXPECT_FALSE(layer.sequences.front().spectrum.power_law);
    const PowerLaw found = layer.spectrum.power_law.value();
    EXPECT_NEAR(found.alpha, number("alpha", expected), 1e-9);
    EXPECT_NEAR(found.r2, number("r2", expected), 1e-9);
    EXPECT_NEAR(found.head, number("head", expected), 1e-9);
    EXPECT_NEAR(found.tail, number("tail", expected), 1e-9);
  }
}

TEST_F(MeasuresGoldenTest, ChangesOfDirectionEqualTorchWithErrorsOverSequences) {
  const MatrixF x = file_.read_matrix("similarity/x");
  const MatrixF turned = x.rowwise().reverse() * 0.5F + x;
  const auto sequence = golden_.at("sequence").get<std::vector<std::int32_t>>();
  const LayerChange found = layer_change(comparable_rows(x, sequence), comparable_rows(turned));
  const auto expect = [&](const ClusteredMean& mean, const Json& expected) {
    EXPECT_NEAR(mean.mean, number("mean", expected), 1e-10);
    EXPECT_NEAR(mean.standard_error, number("stderr", expected), 1e-10);
    EXPECT_EQ(mean.sequences, 6);
  };
  expect(found.influence, golden_.at("change").at("influence"));
  expect(found.angle, golden_.at("change").at("angle"));
}

TEST_F(MeasuresGoldenTest, NeighborhoodsEqualThoseOfScikitLearn) {
  const Json& expected = golden_.at("neighbors");
  ThreadPool pool(2);
  const auto unit = [](MatrixF rows) {
    rows.rowwise().normalize();
    return rows;
  };
  const MatrixF x = unit(file_.read_matrix("similarity/x"));
  const MatrixF y = unit(file_.read_matrix("similarity/y"));
  const NeighborGraph a = find_neighbors(x, expected.at("k"), {}, pool);
  const NeighborGraph b = find_neighbors(y, expected.at("k"), {}, pool);
  EXPECT_NEAR(neighbor_overlap(a.index, b.index).mean(), number("mutual_knn", expected), 1e-12);
  EXPECT_EQ(neighbor_overlap(a.index, a.index).mean(), 1.0);
  std::vector<std::vector<std::int32_t>> nearest(2);
  for (Eigen::Index i = 0; i < a.index.rows(); ++i) {
    nearest[0].push_back(a.index(i, 0));
    nearest[1].push_back(b.index(i, 0));
  }
  const std::vector<VectorD> ranks = scaled_ranks(y, nearest, pool);
  EXPECT_NEAR(ranks[0].mean(), number("imbalance", expected), 1e-12);
  EXPECT_NEAR(ranks[1].mean(), 2.0 / 60.0, 1e-12) << "of a space to itself";
}

TEST_F(MeasuresGoldenTest, GrideIsTheMaximumOfItsLikelihood) {
  const MatrixF points = file_.read_matrix("dimension/points");
  ThreadPool pool(2);
  for (const auto& [neighbors, scale] : {std::pair(2, 1), std::pair(20, 8)}) {
    IntrinsicDimensionOptions options;
    options.num_neighbors = neighbors;
    const IntrinsicDimension found = intrinsic_dimension(points, options, pool);
    EXPECT_EQ(found.gride_scale, scale);
    EXPECT_NEAR(found.gride.value(), number(std::to_string(scale), golden_.at("gride")), 1e-6);
  }
}

TEST(PowerLawTest, IsExactForAPowerLawAndRefusesARankBelowTheRange) {
  std::vector<double> eigenvalues;
  for (int j = 1; j <= 60; ++j) eigenvalues.push_back(3.0 * std::pow(j, -1.25));
  const PowerLaw found = fit_power_law(eigenvalues, 64);
  EXPECT_NEAR(found.alpha, 1.25, 1e-12);
  EXPECT_NEAR(found.r2, 1.0, 1e-12);
  EXPECT_NEAR(found.head, 1.25, 1e-12);
  EXPECT_NEAR(found.tail, 1.25, 1e-12);
  std::fill(eigenvalues.begin() + 40, eigenvalues.end(), 1e-14);
  EXPECT_EQ(testing::refusal_of<InvalidArgument>([&] { fit_power_law(eigenvalues, 64); }),
            "power_law_last: must be at most 40, the rank of the covariance, got 50; use a smaller "
            "range, or more rows");
  EXPECT_EQ(testing::refusal_of<InvalidArgument>([&] {
              fit_power_law(eigenvalues, 64, {5, 7});
            }),
            "power_law_last: must be at least 8, because a range has 4 eigenvalues or more, got 7");
}

TEST(LargestGramEigenvalueTest, IsExactForOneDirectionAndForEqualEigenvalues) {
  EXPECT_NEAR(largest_gram_eigenvalue(MatrixF::Identity(7, 12)), 1.0, 1e-12);
  EXPECT_NEAR(largest_gram_eigenvalue(MatrixF::Ones(9, 5)), 45.0, 1e-10);
  EXPECT_NEAR(largest_gram_eigenvalue(MatrixF::Constant(1, 1, 3.0F)), 9.0, 1e-12);
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
  EXPECT_NEAR(lidar(file.read_matrix("lidar/rows"), classes, {.preset = ViewPreset::kPaper}),
              number(file, "lidar/value"), 1e-9);
}

}  // namespace
}  // namespace lime
