// SPDX-License-Identifier: Apache-2.0
#include "metrics/collapse/layer_causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/json.h"
#include "metrics/collapse/collapse_layers.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::CollapseLayer;

/// Rows and numpy's measurements, see tests/golden/collapse/make_collapse.py.
Json golden() {
  return parse_json(testing::read_text(testing::golden_file("collapse/collapse.json")), "golden");
}

LayerCauses measured(const Json& golden, const Json& layer, int threads) {
  const auto lengths = golden.at("lengths").get<std::vector<std::int64_t>>();
  const auto whole = layer.at("rows").get<std::vector<std::vector<int>>>();
  MatrixF rows(std::ssize(whole), std::ssize(whole.front()));
  for (Eigen::Index r = 0; r < rows.rows(); ++r) {
    for (Eigen::Index c = 0; c < rows.cols(); ++c) {
      rows(r, c) =
          static_cast<float>(whole[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]) /
          golden.at("scale").get<float>();
    }
  }
  LayerRows source;
  source.offsets = {0};
  for (const std::int64_t length : lengths) {
    source.offsets.push_back(source.offsets.back() + length);
  }
  source.sequences = {std::ssize(lengths), [&](std::int64_t index, MatrixF& out) {
                        const auto i = static_cast<std::size_t>(index);
                        out = rows.middleRows(source.offsets[i], lengths[i]);
                      }};
  ThreadPool pool(threads);
  return measure_causes(source, {}, pool);
}

TEST(LayerCausesTest, AgreesWithNumpy) {
  const Json all = golden();
  for (const Json& layer : all.at("layers")) {
    SCOPED_TRACE(layer.at("name").get<std::string>());
    const LayerCauses causes = measured(all, layer, 2);
    std::vector<std::int64_t> massive;
    for (const MassiveToken& token : causes.massive) massive.push_back(token.row);
    EXPECT_EQ(massive, layer.at("massive").get<std::vector<std::int64_t>>());
    EXPECT_EQ(causes.dimensions, layer.at("dimensions").get<std::vector<int>>());
    // Sums of 115 rows in double; distances from the mean lose some 1e-12 by cancellation.
    const auto expect = [&](const char* name, double value) {
      const double expected = layer.at(name).get<double>();
      EXPECT_NEAR(value, expected, 1e-9 * std::max(1.0, std::abs(expected))) << name;
    };
    expect("largest_ratio", causes.largest_ratio);
    expect("massive_share", causes.massive_share.value);
    expect("massive_share_centred", causes.massive_share_centred.value);
    expect("massive_share_rest", causes.massive_share_rest.value);
    expect("dimension_share", causes.dimension_share.value);
    expect("dimension_share_centred", causes.dimension_share_centred.value);
    expect("dimension_tokens", causes.dimension_tokens);
    expect("common_share", causes.common_share.value);
    expect("intraclass", causes.intraclass.value);
    expect("rank_one_residual", causes.rank_one_residual.value);
    expect("rank_one_residual_rest", causes.rank_one_residual_rest.value);
    expect("effective_rank", causes.effective_rank.value);
    expect("rank_ceiling", causes.rank_ceiling);
    expect("participation", causes.participation);
    expect("participation_without_tokens", causes.participation_without_tokens);
    expect("participation_without_dimensions", causes.participation_without_dimensions);
    expect("participation_rest", causes.participation_rest);
    expect("entropy", causes.entropy.value);
    expect("entropy_without_tokens", causes.entropy_without_tokens.value);
  }
}

TEST(LayerCausesTest, GivesTheSameBitsForAnyNumberOfThreads) {
  CollapseLayer layer;
  layer.set_plain(1);
  layer.add_massive_tokens(50.0);
  const LayerCauses one = layer.measure(1);
  const LayerCauses three = layer.measure(3);
  EXPECT_EQ(one.massive_share.low, three.massive_share.low);
  EXPECT_EQ(one.effective_rank.high, three.effective_rank.high);
  EXPECT_EQ(one.entropy_without_tokens.low, three.entropy_without_tokens.low);
  EXPECT_EQ(one.participation_gain.low, three.participation_gain.low);
}

TEST(LayerCausesTest, NamesMassiveTokensByRowAndDimension) {
  CollapseLayer layer;
  layer.set_plain(2);
  layer.add_massive_tokens(30.0);
  const LayerCauses causes = layer.measure();
  ASSERT_EQ(std::ssize(causes.massive), layer.sequences);
  for (std::size_t s = 0; s < causes.massive.size(); ++s) {
    EXPECT_EQ(causes.massive[s].row, static_cast<std::int64_t>(s) * layer.tokens);
    EXPECT_EQ(causes.massive[s].dimension, 7);
    EXPECT_GT(causes.massive[s].ratio, 25.0);
  }
  const MassiveSummary summary =
      summarize_massive(causes.massive, {}, std::vector<std::int32_t>(layer.ids.size(), 4));
  EXPECT_EQ(summary.position, 4);
  EXPECT_EQ(summary.token, -1);
  EXPECT_EQ(summary.dimension_count, layer.sequences);
}

TEST(LayerCausesTest, HasIntervalsFromFiveSequencesOn) {
  CollapseLayer layer{.sequences = 4};
  layer.set_plain(3);
  EXPECT_FALSE(layer.measure().common_share.has_interval());
  EXPECT_FALSE(layer.measure().effective_rank.has_interval());
  layer.sequences = 5;
  layer.set_plain(3);
  EXPECT_TRUE(layer.measure().common_share.has_interval());
  EXPECT_TRUE(layer.measure().effective_rank.has_interval());
}

TEST(LayerCausesTest, RefusesWhatCannotBeMeasured) {
  CollapseLayer layer;
  layer.set_plain(4);
  const auto refusal = [&] {
    return testing::refusal_of<InvalidArgument>([&] { layer.measure(); });
  };
  layer.rows(50, 3) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refusal(),
            "collapse: sequence 1: rows must be finite, got nan in row 2, dimension 3; check the "
            "model for overflow");
  layer.rows.setZero();
  EXPECT_EQ(refusal(), "collapse: all rows are zero");
  EXPECT_EQ(testing::refusal_of<InvalidArgument>([&] { layer.measure(1, {.massive_ratio = 1.0}); }),
            "massive_ratio: must be > 1, got 1");
}

TEST(LayerCausesTest, DrawsRandomVectorsForTheTokenIds) {
  // Two ids in alternation: one direction within sequences, nothing between them.
  const std::vector<std::int32_t> tokens = {3, 9, 3, 9, 9, 3, 9, 3};
  const std::vector<std::int64_t> offsets = {0, 4, 8};
  const TokenControl control = token_control(tokens, offsets, 16, 1);
  EXPECT_NEAR(control.effective_rank, 1.0, 1e-6);  // float32 embeddings
  EXPECT_EQ(control.intraclass, 0.0);
  // One id per sequence: all between them.
  EXPECT_EQ(token_control(std::vector<std::int32_t>{1, 1, 2, 2}, std::vector<std::int64_t>{0, 2, 4},
                          16, 1)
                .intraclass,
            1.0);
}

}  // namespace
}  // namespace lime
