// SPDX-License-Identifier: Apache-2.0
// Compares with tests/golden/geometry/make_views.py: the code of Layer by Layer, numpy and scipy.
#include "metrics/geometry/views.h"

#include <gtest/gtest.h>

#include "core/errors.h"
#include "core/json.h"
#include "metrics/entropy/sequence_entropies.h"
#include "metrics/summary.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

MatrixF matrix_of(const Json& rows) {
  MatrixF matrix(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(rows[0].size()));
  for (Eigen::Index r = 0; r < matrix.rows(); ++r) {
    for (Eigen::Index c = 0; c < matrix.cols(); ++c) matrix(r, c) = rows[r][c].get<float>();
  }
  return matrix;
}

Json golden() { return read_json_file(testing::golden_file("geometry/views.json")); }

/// Fewer texts than dimensions with three views, or more with two.
class ViewsGoldenTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::vector<double> dime_of(const ViewOptions& options) {
    const auto permutations = golden_["permutations"][std::string(enum_name(options.preset))]
                                  .get<std::vector<std::vector<std::int64_t>>>();
    return dime(rows_, texts_, options, permutations, pool_);
  }

  Json golden_ = golden()[GetParam()];
  std::int64_t texts_ = golden_["texts"];
  MatrixF rows_ = matrix_of(golden_["rows"]);
  ThreadPool pool_{2};
};

TEST_P(ViewsGoldenTest, LayerByLayerEqualsItsCode) {
  const Json& expected = golden_["layer-by-layer"];
  for (const auto& [normalization, name] : EnumNames<EntropyNormalization>::kNames) {
    const ViewOptions options{.normalization = normalization};
    const std::vector<double> dimes = dime_of(options);
    EXPECT_NEAR(mean_of(dimes), expected["dime"][std::string(name)].get<double>(), 1e-12) << name;
    EXPECT_NEAR(lidar(rows_, texts_, options), expected["lidar"][std::string(name)].get<double>(),
                1e-11)
        << name;
  }
  EXPECT_NEAR(mean_of(infonce(rows_, texts_, {}, pool_)), expected["infonce"].get<double>(), 1e-12);
}

TEST_P(ViewsGoldenTest, PapersEqualTheirEquations) {
  const Json& expected = golden_["paper"];
  const ViewOptions options{.preset = ViewPreset::kPaper};
  const std::vector<double> dimes = dime_of(options);
  const std::vector<double> losses = infonce(rows_, texts_, options, pool_);
  ASSERT_EQ(dimes.size(), expected["dime"].size());
  ASSERT_EQ(losses.size(), expected["infonce"].size());
  for (std::size_t i = 0; i < dimes.size(); ++i) {
    EXPECT_NEAR(dimes[i], expected["dime"][i].get<double>(), 1e-11);
  }
  for (std::size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected["infonce"][i].get<double>(), 1e-12);
  }
  EXPECT_NEAR(lidar(rows_, texts_, options), expected["lidar"].get<double>(), 1e-9);
}

TEST_P(ViewsGoldenTest, HaveTheSameBitsForAnyNumberOfThreads) {
  ThreadPool one(1);
  const ViewMeasures a = measure_views(rows_, texts_, {}, 3, one);
  const ViewMeasures b = measure_views(rows_, texts_, {}, 3, pool_);
  EXPECT_EQ(a.infonce, b.infonce);
  EXPECT_EQ(a.dime, b.dime);
  EXPECT_EQ(a.lidar, b.lidar);
  EXPECT_NE(measure_views(rows_, texts_, {}, 4, one).dime, a.dime) << "other permutations";
}

INSTANTIATE_TEST_SUITE_P(Shapes, ViewsGoldenTest, ::testing::Values("wide", "tall"),
                         [](const auto& shape) { return std::string(shape.param); });

TEST(PooledTokenTest, LayerByLayerDatasetEqualsItsCode) {
  const Json expected = golden()["dataset"];
  MatrixF rows(static_cast<Eigen::Index>(expected["sequences"].size()), 6);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    const MatrixF tokens = matrix_of(expected["sequences"][i]);
    rows.row(i) = pooled_token(tokens, false, EntropyPreset::kLayerByLayer);
    for (Eigen::Index c = 0; c < rows.cols(); ++c) {
      EXPECT_NEAR(rows(i, c), expected["means"][i][c].get<double>(), 1e-7);
    }
    EXPECT_EQ(pooled_token(tokens, true, EntropyPreset::kRaw), tokens.bottomRows<1>());
  }
  ThreadPool pool(1);
  const SequenceEntropies entropies =
      sequence_entropies({1, [&](std::int64_t, MatrixF& sequence) { sequence = rows; }}, {},
                         {.preset = EntropyPreset::kLayerByLayer, .is_preprocessed = true}, pool);
  EXPECT_NEAR(entropies.values(0, 0), expected["entropy"].get<double>(), 1e-6);
}

/// Texts on the axes with negligible scatter relative to delta: all but one direction have equal
/// weight, views are nearest to each other, and permuting them takes all that they share.
TEST(ViewsTest, TextsOnTheAxesCountThemselves) {
  MatrixF rows(12, 6);
  for (Eigen::Index i = 0; i < 12; ++i) rows.row(i) = MatrixF::Identity(6, 6).row(i / 2);
  ThreadPool pool(1);
  const ViewOptions paper{.preset = ViewPreset::kPaper};
  EXPECT_NEAR(lidar(rows, 6, paper), 5.0, 1e-6);
  EXPECT_NEAR(infonce(rows, 6, paper, pool)[0], std::log(1.0 + 10.0 * std::exp(-10.0)), 1e-12);
}

TEST(ViewsTest, RefusesWhatIsNotThere) {
  const auto refusal = [](const MatrixF& rows, std::int64_t texts) {
    return testing::refusal_of<InvalidArgument>([&] { lidar(rows, texts, {}); });
  };
  const MatrixF rows = MatrixF::Random(12, 4);
  const std::string needs =
      "views: needs at least 2 texts with the same number of views, at least 2";
  EXPECT_EQ(refusal(rows, 1), needs + ", got 12 rows for 1 texts");
  EXPECT_EQ(refusal(rows, 5), needs + ", got 12 rows for 5 texts");
  EXPECT_EQ(refusal(rows, 12), needs + ", got 12 rows for 12 texts");
  EXPECT_EQ(refusal(MatrixF::Ones(12, 4), 6), "lidar: all texts have the same mean");
  MatrixF broken = rows;
  broken(3, 1) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(refusal(broken, 6).find("row 3, dimension 1"), std::string::npos);
  EXPECT_THROW(ViewOptions{.temperature = 0.0}.validate(), InvalidArgument);
  EXPECT_THROW(ViewOptions{.permutations = 0}.validate(), InvalidArgument);
  EXPECT_THROW(ViewOptions{.delta = 0.0}.validate(), InvalidArgument);
}

}  // namespace
}  // namespace lime
