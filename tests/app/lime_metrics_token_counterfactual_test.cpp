// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics counterfactual for routers whose weights depend on the token.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "analysis/write_capture.h"
#include "app/lime_metrics_fixture.h"
#include "checkpoint/parse_model_config.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/entropy/matrix_entropy.h"
#include "support/statistics.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::LimeMetricsTest;

/// Sources of two layers of 4 dimensions, their weights, and the inputs mixed with them.
class TokenCounterfactualTest : public LimeMetricsTest {
 protected:
  static constexpr Eigen::Index kRows = 5 + 8 + 30;

  static MatrixF rows_of(std::uint64_t seed, Eigen::Index dim) {
    return testing::random_matrix(kRows, dim, seed);
  }
  static testing::SmallCapture capture_of(const std::string& decoder) {
    ModelConfig config = testing::tiny_config(decoder, 2);
    config.hidden_size = 4;
    config.num_attention_heads = config.num_key_value_heads = 2;
    config.head_dim = 2;
    testing::SmallCapture capture{
        .lengths = {5, 8, 30}, .activations = {}, .class_names = {}, .class_id = {}};
    capture.config = model_config_to_json(config);
    return capture;
  }
  /// Outputs of the decoder's parts; of a routed one also the weights and the input of layer 1.
  testing::SmallCapture stream(const std::string& decoder, std::uint64_t seed) const {
    testing::SmallCapture capture = capture_of(decoder);
    capture.activations = {{"hook_embed", 0, rows_of(seed, 4)}};
    for (const int layer : {0, 1}) {
      const auto at = static_cast<std::uint64_t>(layer);
      capture.activations.push_back({"hook_attn_out", layer, rows_of(seed + 2 * at + 1, 4)});
      capture.activations.push_back({"hook_mlp_out", layer, rows_of(seed + 2 * at + 2, 4)});
    }
    if (decoder == "llama") return capture;
    // Reads attn and mlp of two sources; then attn, mlp and final of five.
    const MatrixF weights = rows_of(seed + 9, 15);
    capture.activations.push_back({"hook_depth_weights", 0, rows_of(seed + 8, 4)});
    capture.activations.push_back({"hook_depth_weights", 1, weights});
    capture.activations.push_back({"hook_resid_pre", 1, mixed(capture, weights)});
    return capture;
  }
  /// Returns the input of attention of layer 1.
  static MatrixF mixed(const testing::SmallCapture& capture, const MatrixF& weights) {
    MatrixF input = MatrixF::Zero(kRows, 4);
    for (Eigen::Index source = 0; source < 3; ++source) {
      // The outputs are in the order of the sources.
      const MatrixF& rows = capture.activations.at(static_cast<std::size_t>(source)).rows;
      input += weights.col(source).asDiagonal() * rows;
    }
    return input;
  }
  static double entropy(const MatrixF& rows) {
    const Standardization standardization = make_standardization(testing::statistics_of(rows));
    double sum = 0.0;
    Eigen::Index first = 0;
    for (const std::int64_t length : {5, 8, 30}) {
      sum +=
          matrix_renyi_entropy(standardize(rows.middleRows(first, length), standardization), 0.5);
      first += length;
    }
    return sum / 3.0;
  }
};

TEST_F(TokenCounterfactualTest, InputsOfTheStreamFollowFromOutputsAndWeights) {
  testing::SmallCapture capture = stream("attn_res", 1);
  testing::write_capture(folder_ / "attn.h5", capture);
  const Json table = rows("counterfactual attn.h5");
  const MatrixF weights = capture.activations.at(6).rows;
  EXPECT_NEAR(mean_of_router(table, 1, "trained", "entropy"), entropy(mixed(capture, weights)),
              1e-6);
  EXPECT_NEAR(mean_of_router(table, 1, "mean", "entropy"),
              entropy(mixed(capture, weights.colwise().mean().replicate(kRows, 1))), 1e-6);
  EXPECT_NEAR(mean_of_router(table, 1, "identity", "entropy"),
              entropy(mixed(capture, MatrixF::Ones(kRows, 15))), 1e-6);
  MatrixF cut = weights;
  cut.col(0).setZero();
  EXPECT_NEAR(mean_of_router(table, 1, "cut-0", "entropy"), entropy(mixed(capture, cut)), 1e-6);
  const Json trained =
      row_with(table, {{"layer", 1}, {"router", "trained"}, {"quantity", "entropy"}});
  EXPECT_EQ(trained.at("site"), "attn");
  EXPECT_LT(trained.at("deviation").get<double>(), 2e-7);
  EXPECT_NE(mean_of_router(table, 1, "shuffled", "entropy"),
            mean_of_router(table, 1, "trained", "entropy"));
  EXPECT_NE(mean_of_router(table, 1, "random", "entropy"),
            mean_of_router(table, 1, "permuted", "entropy"));
  EXPECT_EQ(difference(table, rows("counterfactual attn.h5 --threads 3")), "");
  const std::string text = run("counterfactual attn.h5 --site mlp").output;
  EXPECT_THAT(text, HasSubstr("input 'mlp' of attn under counterfactual routers"));
  EXPECT_THAT(text, HasSubstr("entropy: difference of each token's weights and their mean "));
  EXPECT_THAT(text, HasSubstr("entropy: difference of mixed and plainly added outputs "));
}

TEST_F(TokenCounterfactualTest, SplitsTheGapToAPlainStream) {
  testing::write_capture(folder_ / "attn.h5", stream("attn_res", 1));
  const testing::SmallCapture plain = stream("llama", 20);
  testing::write_capture(folder_ / "llama.h5", plain);
  const Json table = rows("counterfactual attn.h5 --against llama.h5 --label A L --router mean");
  EXPECT_NEAR(row_with(table, {{"label", "L"}, {"layer", 1}, {"quantity", "entropy"}})
                  .at("mean")
                  .get<double>(),
              entropy(mixed(plain, MatrixF::Ones(kRows, 15))), 1e-6);
  const auto part = [&](const char* name) {
    return row_with(table, {{"layer", 1}, {"part", name}, {"quantity", "entropy"}})
        .at("mean")
        .get<double>();
  };
  EXPECT_NEAR(part("gap"), part("projections") + part("mixing"), 1e-12);
}

TEST_F(TokenCounterfactualTest, DepthAttentionMixesTheValuesThatEarlierLayersRead) {
  testing::SmallCapture capture = capture_of("depth_attention");
  const MatrixF route = rows_of(5, 4);  // [heads, layers]
  const MatrixF first = rows_of(1, 4);
  const MatrixF own = rows_of(2, 4);
  MatrixF routed(kRows, 4);
  for (Eigen::Index column = 0; column < 4; ++column) {
    const Eigen::Index head = column / 2;
    routed.col(column) = route.col(2 * head).cwiseProduct(first.col(column)) +
                         route.col(2 * head + 1).cwiseProduct(own.col(column));
  }
  capture.activations = {{"values", 0, rows_of(3, 4)},
                         {"values", 1, own},
                         {"routed_values", 0, first},
                         {"routed_values", 1, routed},
                         {"attn.hook_route", 0, MatrixF::Ones(kRows, 2)},
                         {"attn.hook_route", 1, route}};
  testing::write_capture(folder_ / "depth.h5", capture);
  const Json table = rows("counterfactual depth.h5");
  const Json trained =
      row_with(table, {{"layer", 1}, {"router", "trained"}, {"quantity", "entropy"}});
  EXPECT_NEAR(trained.at("mean").get<double>(), entropy(routed), 1e-6);
  EXPECT_LT(trained.at("deviation").get<double>(), 2e-7);
  EXPECT_NEAR(mean_of_router(table, 1, "identity", "entropy"), entropy(own), 1e-6);
  EXPECT_EQ(mean_of_router(table, 0, "shuffled", "entropy"),
            mean_of_router(table, 0, "trained", "entropy"));
  EXPECT_EQ(refusal("counterfactual depth.h5 --site keys", 1),
            "lime-metrics: --site: the routers of 'depth_attention' mix values, got 'keys'\n");
  EXPECT_EQ(refusal("counterfactual depth.h5 --router cut-2", 1),
            "lime-metrics: --router: cut-2 must name a layer from 0 to 1\n");
}

TEST_F(TokenCounterfactualTest, RefusesCapturesWithoutASite) {
  testing::SmallCapture capture = stream("mhc", 1);
  std::erase_if(capture.activations, [](const auto& one) { return one.site == "hook_embed"; });
  testing::write_capture(folder_ / "mhc.h5", capture);
  EXPECT_EQ(refusal("counterfactual mhc.h5", 1),
            "lime-metrics: 'mhc.h5': lacks hook_embed of layer 0, but the router of layer 1 reads "
            "all layers below; capture again with --sites "
            "hook_embed,hook_attn_out,hook_mlp_out,hook_depth_weights --layers all\n");
  testing::SmallCapture narrow = stream("mhc", 1);
  narrow.activations.at(6).rows = rows_of(1, 14);
  testing::write_capture(folder_ / "narrow.h5", narrow);
  EXPECT_THAT(refusal("counterfactual narrow.h5 --preset raw", 1),
              HasSubstr("hook_depth_weights of layer 1 must have 15 columns, got 14"));
}

}  // namespace
}  // namespace lime
