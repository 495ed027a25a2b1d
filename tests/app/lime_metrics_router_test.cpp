// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics router.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "app/lime_metrics_fixture.h"
#include "app/routed_capture.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/test_model.h"
#include "metrics/router/head_scales.h"
#include "metrics/router/router_maps.h"
#include "metrics/router/router_summary.h"
#include "metrics/router/routers.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LimeMetricsTest;
using ::testing::Not;
using testing::official_layout;
using testing::random_model;
using testing::random_routed_capture;
using testing::RoutedCapture;
using testing::small_config;
using testing::TestModel;
using testing::TestTensor;
using testing::write_routed_capture;

class RouterCommandTest : public LimeMetricsTest {
 protected:
  std::filesystem::path write_model(const std::string& name, const TestModel& model) const {
    std::filesystem::create_directories(folder_ / name);
    model.write(folder_ / name);
    return folder_ / name;
  }
  /// Writes a LIMe checkpoint with the routers of `capture`.
  void write_checkpoint_of(const std::string& name, const RoutedCapture& capture) const {
    TestModel model = random_model(capture.config);
    for (std::size_t layer = 1; layer < capture.routers.size(); ++layer) {
      std::vector<float>& weights =
          model.at(fmt::format("model.layers.{}.self_attn.lime_router.static_weights", layer))
              .values;
      const MatrixD& router = capture.routers[layer];
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = static_cast<float>(router.data()[i]);
      }
    }
    write_model(name, model);
  }
  static std::vector<Json> of_kind(const Json& rows, const std::string& kind,
                                   const std::string& weighting = "none") {
    std::vector<Json> chosen;
    for (const Json& row : rows) {
      if (row.at("kind") != kind) continue;
      if (row.contains("weighting") && row.at("weighting") != weighting) continue;
      chosen.push_back(row);
    }
    return chosen;
  }
  static Routers routers_of_capture(const RoutedCapture& capture) {
    Routers routers;
    routers.num_key_value_heads = capture.routers[0].rows();
    routers.weights = capture.routers;
    return routers;
  }
};

TEST_F(RouterCommandTest, MapsAndWeightsAreThoseOfTheCheckpoint) {
  const RoutedCapture capture = random_routed_capture(small_config("lime"), {5}, 1);
  write_checkpoint_of("lime", capture);
  const Routers routers = routers_of_capture(capture);
  const Json table = rows("router lime --detail weights");

  const MatrixD map = router_mean_map(routers, unit_scales(routers));
  const std::vector<Json> mean_map = of_kind(table, "mean_map");
  ASSERT_EQ(mean_map.size(), 1u + 2u + 3u);
  for (const Json& row : mean_map) {
    EXPECT_EQ(row.at("label"), "lime");
    EXPECT_EQ(row.at("weight").get<double>(),
              map(row.at("layer").get<int>(), row.at("source_layer").get<int>()));
  }
  for (const Json& row : of_kind(table, "head_map")) {
    const MatrixD heads =
        router_head_maps(routers, unit_scales(routers))[row.at("layer").get<std::size_t>()];
    EXPECT_EQ(row.at("weight").get<double>(),
              heads(row.at("head").get<int>(), row.at("source_layer").get<int>()));
  }
  const std::vector<Json> weights = of_kind(table, "weight");
  ASSERT_EQ(weights.size(), 2u * (2 + 4 + 6));
  for (const Json& row : weights) {
    const MatrixD& router = capture.routers[row.at("layer").get<std::size_t>()];
    EXPECT_EQ(row.at("weight").get<double>(),
              router(row.at("head").get<int>(),
                     row.at("source_layer").get<int>() * 2 + row.at("source_head").get<int>()));
  }
  const auto summaries = summarize_routers(routers, unit_scales(routers));
  const std::vector<Json> heads = of_kind(table, "head");
  ASSERT_EQ(heads.size(), summaries.size());
  EXPECT_EQ(heads[5].at("effective_sources").get<double>(), summaries[5].effective_sources);
  EXPECT_EQ(heads[5].at("share_previous").get<double>(), summaries[5].share_previous);
  EXPECT_EQ(of_kind(rows("router lime --detail layers"), "head").size(), 0u);
}

TEST_F(RouterCommandTest, PrintsTheSharesAsSentencesAndTheMapInShades) {
  // Layer 1 reads the embeddings' buffer only, layer 2 the layer before it only.
  RoutedCapture capture = random_routed_capture(small_config("lime"), {5}, 1);
  for (MatrixD& router : capture.routers) router.setZero();
  capture.routers[1].leftCols(2).setConstant(-0.5);
  capture.routers[2].middleCols(2, 2).setConstant(0.25);
  write_checkpoint_of("lime", capture);
  const std::string text = run("router lime").output;
  EXPECT_THAT(text, HasSubstr("routers of lime: 3 layers, 2 key-value heads, lime\n"));
  EXPECT_THAT(
      text, HasSubstr("embeddings: the buffer of layer 0, projected from the embeddings, receives "
                      "50.0% of the weight in layers 1-2 (41.7% if the weight were uniform)\n"));
  EXPECT_THAT(text, HasSubstr("nearby: the previous layer receives 100.0% of the weight in layers "
                              "1-2 (41.7% if the weight were uniform)\n"));
  EXPECT_THAT(text, HasSubstr("own layer: it receives 0.0% of the weight in layers 1-2"));
  EXPECT_THAT(text, HasSubstr("    0   1   2\n"
                              "0 100\u2588\n"
                              "1 100\u2588  0\n"
                              "2   0 100\u2588  0\n"));
  EXPECT_THAT(run("router lime", "LC_ALL=C").output, HasSubstr("1 100#  0\n"));
}

TEST_F(RouterCommandTest, PlainTransformersReadThemselves) {
  write_model("llama", random_model(small_config("llama")));
  const Json table = rows("router llama");
  for (const Json& row : of_kind(table, "mean_map")) {
    EXPECT_EQ(row.at("weight").get<double>(),
              row.at("layer") == row.at("source_layer") ? 1.0 : 0.0);
  }
  EXPECT_THAT(run("router llama").output,
              HasSubstr("no routers in llama: 3 layers, 2 key-value heads, llama\n"));
  EXPECT_THAT(run("router llama").output,
              HasSubstr("a plain transformer: every head reads the keys and values of its own "
                        "layer (identity routing)\n"));
}

TEST_F(RouterCommandTest, OfficialCheckpointsHaveTheSameMaps) {
  const TestModel lime = random_model(small_config("lime"));
  write_model("ours", lime);
  write_model("official", official_layout(lime));
  const auto without_label = [](Json table) {
    for (Json& row : table) row.erase("label");
    return table;
  };
  testing::move_to_released_layout(write_model("save", official_layout(lime)));
  for (const std::string path : {"official", "save", "save/final"}) {
    EXPECT_EQ(without_label(rows("router ours --detail weights")),
              without_label(rows("router " + path + " --detail weights")))
        << path;
  }
}

TEST_F(RouterCommandTest, MeasuresTheDistanceFromAnotherCheckpoint) {
  const RoutedCapture capture = random_routed_capture(small_config("lime"), {5}, 1);
  write_checkpoint_of("start", capture);
  RoutedCapture trained = capture;
  trained.routers[2] *= 1.5;
  write_checkpoint_of("end", trained);
  const std::vector<Json> layers = of_kind(rows("router end --initial start"), "layer");
  EXPECT_EQ(layers[1].at("distance_initial").get<double>(), 0.0);
  EXPECT_NEAR(layers[2].at("distance_initial").get<double>(), 0.5, 1e-6);
  EXPECT_FALSE(of_kind(rows("router end"), "layer")[2].contains("distance_initial"));
}

// W_K and W_V of one head times c, its router columns divided by c: the same model.
// (tests/model/router_gauge_test.cpp shows that logits are unchanged.)
TEST_F(RouterCommandTest, WeightedMapsStayWhereAHeadIsRescaled) {
  RoutedCapture capture = random_routed_capture(small_config("lime"), {7, 9}, 1);
  const auto measure = [&](const std::string& name) {
    write_checkpoint_of(name, capture);
    capture.checkpoint_sha256 = Checkpoint::open(folder_ / name).sha256();
    write_routed_capture(folder_ / (name + ".h5"), capture);
    return rows(fmt::format("router {} {}.h5", name, name));
  };
  const Json before = measure("before");
  constexpr float kFactor = 8.0F;
  capture.values[1].rightCols(4) *= kFactor;  // head 1 of layer 1
  capture.keys[1].rightCols(4) *= kFactor;
  for (std::size_t layer = 1; layer < 3; ++layer) capture.routers[layer].col(3) /= kFactor;
  const Json after = measure("after");
  const auto largest_move = [&](const std::string& kind, const std::string& weighting,
                                const char* column) {
    const std::vector<Json> a = of_kind(before, kind, weighting);
    const std::vector<Json> b = of_kind(after, kind, weighting);
    EXPECT_EQ(a.size(), b.size());
    EXPECT_FALSE(a.empty());
    double move = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      move =
          std::max(move, std::abs(a[i].at(column).get<double>() - b[i].at(column).get<double>()));
    }
    return move;
  };
  EXPECT_GT(largest_move("mean_map", "none", "weight"), 0.05);
  for (const std::string weighting : {"keys", "values"}) {
    EXPECT_LT(largest_move("mean_map", weighting, "weight"), 1e-6);
    EXPECT_LT(largest_move("head_map", weighting, "weight"), 1e-6);
    EXPECT_LT(largest_move("head", weighting, "entropy"), 1e-6);
  }
  EXPECT_GT(largest_move("mean_map", "values - none", "weight"), 0.05);
  EXPECT_LT(largest_move("head", "values", "cancellation"), 1e-6);
}

TEST_F(RouterCommandTest, CancellationIsThatOfTheContributions) {
  RoutedCapture capture = random_routed_capture(small_config("lime"), {4, 3}, 1);
  write_checkpoint_of("lime", capture);
  capture.checkpoint_sha256 = Checkpoint::open(folder_ / "lime").sha256();
  write_routed_capture(folder_ / "lime.h5", capture);
  const Json table = rows("router lime lime.h5");
  for (const Json& row : of_kind(table, "head")) {
    const auto layer = row.at("layer").get<std::size_t>();
    const auto head = row.at("head").get<Eigen::Index>();
    const MatrixD& router = capture.routers[layer];
    double mean = 0.0;
    for (Eigen::Index token = 0; token < 7; ++token) {
      Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(4);
      double norms = 0.0;
      for (Eigen::Index column = 0; column < router.cols(); ++column) {
        const Eigen::RowVectorXd part =
            router(head, column) * capture.values[static_cast<std::size_t>(column / 2)]
                                       .row(token)
                                       .segment(column % 2 * 4, 4)
                                       .cast<double>();
        sum += part;
        norms += part.norm();
      }
      mean += (1.0 - sum.norm() / norms) / 7.0;
    }
    EXPECT_NEAR(row.at("cancellation").get<double>(), mean, 1e-6);
  }
  EXPECT_THAT(run("router lime lime.h5").output, HasSubstr("cancel"));
}

TEST_F(RouterCommandTest, SaysWhatACaptureCannotTell) {
  RoutedCapture capture = random_routed_capture(small_config("lime"), {4, 3}, 1);
  write_checkpoint_of("lime", capture);
  capture.checkpoint_sha256 = Checkpoint::open(folder_ / "lime").sha256();
  write_routed_capture(folder_ / "few.h5", capture, {0, 2});
  const std::string text = run("router lime few.h5").output;
  EXPECT_THAT(text, HasSubstr("no cancellation index: the capture lacks token rows of values of "
                              "all layers\n"));
  EXPECT_FALSE(of_kind(rows("router lime few.h5"), "layer")[1].contains("cancellation"));
}

TEST_F(RouterCommandTest, OfRoutersPerDimensionTheMeanIsShownAndAllAreRoutedWith) {
  Json config = small_config("lime");
  config["lime"] = {{"router", "full"}, {"per_dimension", true}};
  const TestModel model = random_model(config);
  write_model("wide", model);
  RoutedCapture capture = random_routed_capture(config, {4, 3}, 1);
  capture.checkpoint_sha256 = Checkpoint::open(folder_ / "wide").sha256();
  write_routed_capture(folder_ / "wide.h5", capture);
  const Json table = rows("router wide wide.h5 --detail weights");
  for (const TestTensor& tensor : model.tensors) {
    if (tensor.name != "model.layers.1.self_attn.lime_router.static_weights") continue;
    ASSERT_EQ(tensor.shape, (Shape{2, 16}));  // 4 buffered heads of 4 dimensions
    for (const Json& row : of_kind(table, "weight")) {
      if (row.at("layer") != 1 || row.at("head") != 1 || row.at("source_head") != 1) continue;
      const std::size_t first = 16 + (row.at("source_layer") == 1 ? 12 : 4);
      double mean = 0.0;
      for (std::size_t i = 0; i < 4; ++i) mean += tensor.values[first + i] / 4.0;
      EXPECT_NEAR(row.at("weight").get<double>(), mean, 1e-6);
    }
    // Token by token: 1 - ||sum of contributions|| / sum of ||contributions|| of head 1.
    double index = 0.0;
    for (Eigen::Index token = 0; token < capture.num_rows(); ++token) {
      Eigen::Vector4d sum = Eigen::Vector4d::Zero();
      double norms = 0.0;
      for (Eigen::Index source = 0; source < 4; ++source) {
        const MatrixF& values = capture.values[static_cast<std::size_t>(source / 2)];
        Eigen::Vector4d contribution;
        for (Eigen::Index dim = 0; dim < 4; ++dim) {
          contribution(dim) =
              static_cast<double>(values(token, source % 2 * 4 + dim)) *
              static_cast<double>(tensor.values[static_cast<std::size_t>(16 + source * 4 + dim)]);
        }
        sum += contribution;
        norms += contribution.norm();
      }
      index += (1.0 - sum.norm() / norms) / 7.0;
    }
    for (const Json& row : of_kind(table, "head")) {
      if (row.at("layer") != 1 || row.at("head") != 1) continue;
      EXPECT_NEAR(row.at("cancellation").get<double>(), index, 1e-6);
    }
  }
  EXPECT_THAT(run("router wide wide.h5").output,
              HasSubstr("routers per dimension: R is their mean over the dimensions of a head\n"));
}

TEST_F(RouterCommandTest, NeedsUnderASecondAndNoLibTorchFor128Layers) {
  Json config = small_config("lime");
  config["num_hidden_layers"] = 128;
  config["hidden_size"] = 32;
  config["num_attention_heads"] = 8;
  config["num_key_value_heads"] = 8;
  write_model("deep", random_model(config));
  const Json table = rows("router deep");
  EXPECT_EQ(of_kind(table, "head").size(), 128u * 8u);
  EXPECT_THAT(run("router deep").output, HasSubstr("(each column: 2 source layers)"));
  EXPECT_THAT(testing::run_command("ldd " LIME_METRICS).output, Not(HasSubstr("torch")));
}

TEST_F(RouterCommandTest, RefusesWhatDoesNotBelongTogether) {
  EXPECT_THAT(refusal("router none", 1), HasSubstr("none"));
  EXPECT_EQ(refusal("router", 2),
            "lime-metrics: checkpoint: expected a checkpoint, got none; see lime-metrics "
            "router --help\n");
  std::filesystem::create_directory(folder_ / "empty");
  EXPECT_THAT(refusal("router empty", 1), HasSubstr("config.json"));

  RoutedCapture capture = random_routed_capture(small_config("lime"), {4, 3}, 1);
  write_checkpoint_of("lime", capture);
  capture.checkpoint_sha256 = std::string(64, 'a');
  write_routed_capture(folder_ / "other.h5", capture);
  const std::string own = Checkpoint::open(folder_ / "lime").sha256();
  EXPECT_EQ(
      refusal("router lime other.h5", 1),
      fmt::format(
          "lime-metrics: 'other.h5': was captured from another checkpoint (sha256 aaaaaaaaaaaa..., "
          "'lime' has {}...); use the checkpoint that it was captured from\n",
          own.substr(0, 12)));
  write_model("narrow", random_model(small_config("llama")));
  Json wide = small_config("lime");
  wide["num_key_value_heads"] = 4;
  write_model("wide", random_model(wide));
  EXPECT_THAT(refusal("router lime --initial wide", 1),
              HasSubstr("both routers must have 3 layers and 2 heads, got 3 and 4"));
  EXPECT_THAT(refusal("router lime --max-sequences 3", 2),
              HasSubstr("requires a capture, got none"));
  Json dynamic = small_config("lime");
  dynamic["lime"] = {{"router", "full"}, {"dynamic", true}};
  write_model("dynamic", random_model(dynamic));
  EXPECT_EQ(refusal("router dynamic", 1),
            "lime-metrics: 'dynamic': the routing weights of 'lime' are read from a capture; run "
            "lime-capture --sites attn.hook_route and give its file as the second argument\n");
  for (const std::string name :
       {"denseformer", "hyper_connections", "resformer", "attn_res", "mhc", "mudd"}) {
    write_model(name, random_model(small_config(name)));
    const std::string site = name == "resformer" ? "attn.hook_route" : "hook_depth_weights";
    EXPECT_EQ(refusal("router " + name, 1),
              fmt::format("lime-metrics: '{0}': the routing weights of '{0}' are read from a "
                          "capture; run lime-capture --sites {1} and give its file as the second "
                          "argument\n",
                          name, site));
  }
}

}  // namespace
}  // namespace lime
