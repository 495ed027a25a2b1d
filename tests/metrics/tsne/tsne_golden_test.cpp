// SPDX-License-Identifier: Apache-2.0
// Compares with tests/golden/make_tsne_goldens.py: scikit-learn's affinities, openTSNE's results.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "metrics/tsne/affinities.h"
#include "metrics/tsne/gradient_descent.h"
#include "metrics/tsne/trustworthiness.h"
#include "metrics/tsne/tsne.h"
#include "store/hdf5/hdf5_file.h"
#include "support/golden_matrix.h"
#include "support/test_data.h"

namespace lime {
namespace {

class TsneGoldenTest : public ::testing::Test {
 protected:
  TsneGoldenTest() : file_(testing::golden_file("tsne.h5")) {
    points_ = file_.read_matrix("points");
    embedding_ = testing::golden_matrix(file_, "embedding");
    affinities_.offset = file_.read<std::int64_t>("p/offset");
    affinities_.column = file_.read<std::int32_t>("p/column");
    affinities_.value = file_.read<double>("p/value");
    options_.perplexity = file_.double_attribute("perplexity", "p");
  }

  double error_of_gradient(const TsneOptions& options) {
    const MatrixD expected = testing::golden_matrix(file_, "gradient");
    const MatrixD gradient =
        tsne_detail::GradientDescent(affinities_, embedding_, options, pool_).gradient(1.0);
    return (gradient - expected).norm() / expected.norm();
  }

  Hdf5File file_;
  MatrixF points_;
  MatrixD embedding_;
  Affinities affinities_;
  TsneOptions options_;
  ThreadPool pool_{2};
};

TEST_F(TsneGoldenTest, AffinitiesEqualScikitLearns) {
  const NeighborGraph graph =
      find_neighbors(points_, options_.num_neighbors(points_.rows()), {}, pool_);
  const Affinities affinities = joint_probabilities(
      graph.index, conditional_probabilities(graph.squared_distance, options_.perplexity, pool_),
      pool_);
  ASSERT_EQ(affinities.offset, affinities_.offset);
  ASSERT_EQ(affinities.column, affinities_.column);
  for (std::size_t i = 0; i < affinities.value.size(); ++i) {
    // scikit-learn bisects in float32, so its values of up to 1e-3 are accurate to about 1e-8.
    EXPECT_NEAR(affinities.value[i], affinities_.value[i], 2e-8) << "entry " << i;
  }
}

TEST_F(TsneGoldenTest, ThetaZeroGivesTheExactGradientAndDivergence) {
  options_.theta = 0.0;
  EXPECT_LT(error_of_gradient(options_), 1e-10);
  tsne_detail::GradientDescent descent(affinities_, embedding_, options_, pool_);
  descent.gradient(1.0);
  EXPECT_NEAR(descent.divergence(), file_.double_attribute("kl_divergence", "gradient"), 1e-10);
}

TEST_F(TsneGoldenTest, OtherRepulsionsComeNearTheExactGradient) {
  options_.repulsion = TsneRepulsion::kExact;
  EXPECT_LT(error_of_gradient(options_), 1e-5);  // float32
  options_.repulsion = TsneRepulsion::kBarnesHut;
  EXPECT_LT(error_of_gradient(options_), 1e-3);
  options_.theta = 0.1;
  EXPECT_LT(error_of_gradient(options_), 1e-5);
}

TEST_F(TsneGoldenTest, TrustworthinessEqualsScikitLearns) {
  // One rank contributes 1e-6 here, and a few pairs of distances are equal in float32.
  EXPECT_NEAR(trustworthiness(points_, embedding_, {}, pool_),
              file_.double_attribute("trustworthiness", "gradient"), 3e-6);
}

TEST_F(TsneGoldenTest, EndsNoWorseThanOpenTsne) {
  options_.learning_rate = file_.double_attribute("learning_rate", "openTSNE");
  const double their_divergence = file_.double_attribute("kl_divergence", "openTSNE");
  const double their_trustworthiness = file_.double_attribute("trustworthiness", "openTSNE");
  const MatrixD start = testing::golden_matrix(file_, "start");
  for (const TsneRepulsion repulsion : {TsneRepulsion::kExact, TsneRepulsion::kBarnesHut}) {
    options_.repulsion = repulsion;
    const TsneResult result = tsne_from_affinities(affinities_, start, options_, pool_);
    EXPECT_LT(result.kl_divergence, 1.01 * their_divergence) << enum_name(repulsion);
    EXPECT_GT(trustworthiness(points_, result.embedding, {}, pool_), their_trustworthiness - 0.005)
        << enum_name(repulsion);
  }
}

}  // namespace
}  // namespace lime
