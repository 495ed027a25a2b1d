// SPDX-License-Identifier: Apache-2.0
#include "analysis/router/source_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/write_capture.h"
#include "checkpoint/parse_model_config.h"
#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

/// Returns two layers of 3 sequences with random weights of a routing.
testing::SmallCapture capture_of(const ModelConfig& config, Eigen::Index width) {
  testing::SmallCapture capture = testing::example_capture();
  capture.activations.clear();
  for (const int layer : {0, 1}) {
    const Eigen::Index columns = layer == 0 ? width / 2 : width;
    capture.activations.push_back(
        {source_site(config), layer, testing::random_matrix(16, columns, 1)});
  }
  capture.config = model_config_to_json(config);
  return capture;
}

class SourceMapsTest : public ::testing::Test {
 protected:
  static ModelConfig config_of(const std::string& decoder) {
    ModelConfig config = testing::tiny_config(decoder, 2);
    config.num_attention_heads = config.num_key_value_heads = 2;
    config.head_dim = 2;
    return config;
  }
  std::vector<ResultRow> rows_of(const ModelConfig& config, const testing::SmallCapture& capture) {
    testing::write_capture(folder_ / "run.h5", capture);
    const CaptureReader reader(folder_ / "run.h5");
    ThreadPool pool(1);
    return source_units(reader, config, "run", 3, 0).at(1).measure({pool, {}, {}}).rows;
  }

  testing::TemporaryFolder folder_;
};

/// Weights [kv_heads, layers] per token: means over tokens and target heads, shares of magnitudes.
TEST_F(SourceMapsTest, RowsAreMeansOverTokens) {
  const ModelConfig config = config_of("depth_attention");
  const testing::SmallCapture capture = capture_of(config, 4);
  const std::vector<ResultRow> rows = rows_of(config, capture);
  ASSERT_EQ(rows.size(), 1U + 2U);
  const MatrixD weights = capture.activations.at(1).rows.cast<double>();
  double mean = 0.0;
  double share = 0.0;
  double entropy = 0.0;
  double square = 0.0;
  for (Eigen::Index token = 0; token < 16; ++token) {
    const double value = 0.5 * (weights(token, 1) + weights(token, 3));
    mean += value / 16.0;
    square += value * value / 16.0;
    for (const Eigen::Index head : {0, 2}) {
      const double first = std::abs(weights(token, head));
      const double second = std::abs(weights(token, head + 1));
      const double part = second / (first + second);
      share += part / 32.0;
      entropy -= (part * std::log(part) + (1.0 - part) * std::log(1.0 - part)) / 32.0;
    }
  }
  EXPECT_EQ(rows[2].text(col::kRead), "kv");
  EXPECT_EQ(rows[2].integer(col::kSource), 1);
  EXPECT_NEAR(rows[2].number(col::kWeight), mean, 1e-12);
  EXPECT_NEAR(rows[2].number(col::kStd), std::sqrt(square - mean * mean), 1e-12);
  EXPECT_NEAR(rows[2].number(col::kShare), share, 1e-12);
  EXPECT_LE(rows[2].number(col::kCiLow), rows[2].number(col::kCiHigh));
  EXPECT_NEAR(rows[0].number(col::kEntropy), entropy, 1e-12);
  EXPECT_NEAR(rows[0].number(col::kShareEmbedding), 1.0 - share, 1e-12);
}

TEST_F(SourceMapsTest, ReadsOfTheStreamAreRowsOfTheirOwn) {
  const ModelConfig config = config_of("mudd");
  testing::SmallCapture capture = capture_of(config, 5 * 5);
  capture.activations.at(0).rows = MatrixF::Ones(16, 4 * 2);
  const std::vector<ResultRow> rows = rows_of(config, capture);
  EXPECT_EQ(rows.size(), 5U + 5U * 5U);
  EXPECT_EQ(rows[4].text(col::kRead), "final");
}

TEST_F(SourceMapsTest, ACaptureWithoutTheSiteIsRefused) {
  const ModelConfig config = config_of("mhc");
  testing::SmallCapture capture = testing::example_capture();
  capture.config = model_config_to_json(config);
  EXPECT_THAT(testing::refusal_of([&] { rows_of(config, capture); }),
              HasSubstr("lacks the weights of the routers of 'mhc'; capture again with --sites "
                        "hook_depth_weights"));
}

TEST_F(SourceMapsTest, APlainStreamHasEqualShares) {
  const ModelConfig config = config_of("llama");
  EXPECT_EQ(source_site(config), "");
  const std::vector<ResultRow> rows = plain_source_rows(config, 1);
  ASSERT_EQ(rows.size(), 3U + 4U + 5U);
  EXPECT_EQ(rows.back().text(col::kRead), "final");
  EXPECT_DOUBLE_EQ(rows.back().number(col::kShare), 0.2);
}

/// With the sources in the capture, weights are also multiplied by their norms at each token.
TEST_F(SourceMapsTest, WeightsTimesNormsOfTheSources) {
  const ModelConfig config = config_of("depth_attention");
  testing::SmallCapture capture = capture_of(config, 4);
  const MatrixF first = testing::random_matrix(16, 4, 5);
  const MatrixF own = testing::random_matrix(16, 4, 6);
  for (const int layer : {0, 1}) {
    capture.activations.push_back({"values", layer, own});
    capture.activations.push_back({"routed_values", layer, first});
  }
  const std::vector<ResultRow> rows = rows_of(config, capture);
  ASSERT_EQ(rows.size(), 2U * (1U + 2U));
  EXPECT_EQ(rows[0].text(col::kWeighting), "none");
  const MatrixF& weights = capture.activations.at(1).rows;
  double share = 0.0;
  double mean = 0.0;
  for (Eigen::Index token = 0; token < 16; ++token) {
    for (const Eigen::Index head : {0, 1}) {
      const double a = weights(token, 2 * head) * first.row(token).segment(2 * head, 2).norm();
      const double b = weights(token, 2 * head + 1) * own.row(token).segment(2 * head, 2).norm();
      mean += b / 32.0;
      share += std::abs(b) / (std::abs(a) + std::abs(b)) / 32.0;
    }
  }
  EXPECT_EQ(rows[5].text(col::kWeighting), "values");
  EXPECT_EQ(rows[5].integer(col::kSource), 1);
  EXPECT_NEAR(rows[5].number(col::kWeight), mean, 1e-6);
  EXPECT_NEAR(rows[5].number(col::kShare), share, 1e-6);
}

TEST_F(SourceMapsTest, NormsOfOutputsWeightTheReadsOfTheStream) {
  const ModelConfig config = config_of("mhc");
  testing::SmallCapture capture = capture_of(config, 3 * 5);
  capture.activations.at(0).rows = MatrixF::Ones(16, 4);
  capture.activations.push_back({"hook_embed", 0, MatrixF::Ones(16, 4) * 3.0F});
  for (const int layer : {0, 1}) {
    capture.activations.push_back({"hook_attn_out", layer, MatrixF::Ones(16, 4)});
    capture.activations.push_back({"hook_mlp_out", layer, MatrixF::Ones(16, 4)});
  }
  const std::vector<ResultRow> rows = rows_of(config, capture);
  ASSERT_EQ(rows.size(), 2U * (3U + 15U));
  EXPECT_EQ(rows[18].text(col::kWeighting), "outputs");
  // The embedding has norm 6, the outputs 2.
  EXPECT_NEAR(rows[18 + 3].number(col::kWeight), 6.0 * rows[3].number(col::kWeight), 1e-5);
  EXPECT_NEAR(rows[18 + 4].number(col::kWeight), 2.0 * rows[4].number(col::kWeight), 1e-5);
}

}  // namespace
}  // namespace lime
