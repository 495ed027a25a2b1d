// SPDX-License-Identifier: Apache-2.0
// Changes of coordinates leave the logits of every decoder as they are, or are refused.
#include "model/gauge/gauge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <set>
#include <string>

#include "core/errors.h"
#include "model/model_fixture.h"

namespace lime {
namespace {

using testing::config_name;
using ::testing::HasSubstr;
using testing::in_double;
using testing::lively_decoder;
using testing::max_difference;
using testing::NamedConfig;
using testing::relative_error;
using testing::small_config;
using testing::small_configs;
using testing::some_ids;

class GaugeTest : public ::testing::TestWithParam<NamedConfig> {};

/// Returns the largest change of a weight.
double largest_change(const GaugeWeights& weights, const Decoder& original) {
  double largest = 0.0;
  for (const GaugeWeights::Entry& entry : weights.entries()) {
    if (weights.config().tie_word_embeddings != original.config().tie_word_embeddings &&
        entry.spec.part == Part::kHead) {
      continue;
    }
    largest = std::max(largest, max_difference(entry.tensor, original.parameter(entry.spec.name)));
  }
  return largest;
}

TEST_P(GaugeTest, ExactTransformsLeaveTheLogitsAsTheyAre) {
  const torch::NoGradGuard no_grad;
  const Decoder original = lively_decoder(GetParam().config, in_double());
  const at::Tensor ids = some_ids(2, 11);
  const at::Tensor logits = original.forward(ids).logits.clone();
  Random random(11);
  for (const Gauge* gauge : all_gauges()) {
    SCOPED_TRACE(std::string(gauge->name));
    GaugeRequest request{.transform = std::string(gauge->name)};
    const std::string refusal = gauge->refusal(GetParam().config);
    if (!refusal.empty()) {
      GaugeWeights weights(original);
      EXPECT_THROW(apply_gauge(request, weights), InvalidArgument);
      continue;
    }
    double change = 0.0;
    for (request.seed = 0; request.seed < 3; ++request.seed) {
      if (gauge->has_strength) request.strength = random.uniform(0.1, 1.0);
      GaugeWeights weights(original);
      apply_gauge(request, weights);
      change = std::max(change, largest_change(weights, original));
      // Rounding of sums in another order; weights that are ten times as large as usual, and
      // factors that span three orders of magnitude, amplify it.
      EXPECT_LT(relative_error(weights.decoder().forward(ids).logits, logits), 1e-11)
          << "seed " << request.seed << ", strength " << request.strength.value_or(0.0);
    }
    EXPECT_GT(change, 1e-3) << "weights do not change";
  }
}

/// Values move; what W_O makes of them does not.
TEST_P(GaugeTest, ResultsOfHeadsAreInvariantCompanionsOfValues) {
  const torch::NoGradGuard no_grad;
  const Decoder original = lively_decoder(GetParam().config, in_double());
  const at::Tensor ids = some_ids(2, 11);
  const std::vector<std::string> results = {"*.hook_result", "*.hook_value_result"};
  const auto before = testing::activations(original, ids, results);
  for (const char* const name : {"value-scale", "value-rotation", "query-key-scale", "route-scale",
                                 "unit-scale", "unit-permutation"}) {
    if (!find_gauge(name).refusal(GetParam().config).empty()) continue;
    GaugeWeights weights(original);
    apply_gauge({.transform = name, .seed = 2}, weights);
    for (const auto& [hook, after] : testing::activations(weights.decoder(), ids, results)) {
      EXPECT_LT(relative_error(after, before.at(hook)), 1e-11) << name << ", " << hook;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, GaugeTest, ::testing::ValuesIn(small_configs()), config_name);

TEST(GaugeRefusalTest, NamesTheReason) {
  const auto refusal = [](const char* transform, const ModelConfig& config) {
    return find_gauge(transform).refusal(config);
  };
  const ModelConfig llama = small_config("llama");
  EXPECT_THAT(refusal("expert-permutation", llama), HasSubstr("no experts"));
  EXPECT_THAT(refusal("route-scale", llama), HasSubstr("no router"));
  EXPECT_THAT(refusal("stream-permutation", llama), HasSubstr("one residual stream"));
  EXPECT_THAT(refusal("value-scale", small_config("lime")), HasSubstr("route-scale"));
  ModelConfig gelu = llama;
  gelu.spec.gated_mlp = false;
  gelu.spec.activation = Activation::kGelu;
  EXPECT_THAT(refusal("unit-scale", gelu), HasSubstr("activation gelu is not homogeneous"));
  ModelConfig after = llama;
  after.spec.norm_placement = NormPlacement::kAfter;
  EXPECT_THAT(refusal("residual-rotation", after), HasSubstr("norms after attention and MLP"));
  ModelConfig clipped = llama;
  clipped.spec.qkv_clip = 1.0;
  EXPECT_THAT(refusal("query-key-scale", clipped), HasSubstr("clipped"));
  ModelConfig dynamic = small_config("lime");
  dynamic.lime.dynamic = true;
  EXPECT_THAT(refusal("route-scale", dynamic), HasSubstr("softmax"));
}

/// Returns the message of an InvalidArgument, or an empty text.
std::string message_of(const GaugeRequest& request) {
  try {
    request.validate();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

TEST(GaugeRequestTest, NamesWhatIsWrong) {
  EXPECT_THAT(message_of({.transform = "value-scal"}), HasSubstr("expected one of value-scale, "));
  EXPECT_THAT(message_of({.transform = "unit-permutation", .strength = 0.5}),
              HasSubstr("'unit-permutation' has no strength; omit it"));
  EXPECT_THAT(message_of({.transform = "unit-scale", .strength = 0.0}),
              HasSubstr("must be > 0 and at most 5, got 0"));
  EXPECT_EQ(message_of({.transform = "unit-scale", .strength = 5.0}), "");
}

TEST(GaugeRequestTest, NamesAreDistinct) {
  std::set<std::string_view> names;
  for (const Gauge* gauge : all_gauges()) EXPECT_TRUE(names.insert(gauge->name).second);
}

TEST(GaugeDrawsTest, RotationsAreOrthogonalAndMayKeepTheMean) {
  for (const std::int64_t size : {1, 2, 7, 40}) {
    for (const bool keeps_mean : {false, true}) {
      const at::Tensor rotation = GaugeDraws(3, 0.7).rotation(size, keeps_mean);
      EXPECT_LT(
          max_difference(torch::matmul(rotation, rotation.t()), torch::eye(size, torch::kDouble)),
          1e-13);
      if (!keeps_mean) continue;
      const at::Tensor ones = torch::ones({size}, torch::kDouble);
      EXPECT_LT(max_difference(torch::matmul(rotation, ones), ones), 1e-13);
    }
  }
}

TEST(GaugeDrawsTest, StrengthZeroChangesNothing) {
  GaugeDraws draws(3, 0.0);
  EXPECT_EQ(max_difference(draws.factors(5), torch::ones({5}, torch::kDouble)), 0.0);
  EXPECT_LT(max_difference(draws.rotation(6), torch::eye(6, torch::kDouble)), 1e-15);
}

TEST(GaugeWeightsTest, SameSeedGivesSameWeights) {
  const Decoder original = lively_decoder(small_config("lime"), in_double());
  GaugeWeights first(original), second(original), third(original);
  apply_gauge({.transform = "residual-rotation", .seed = 4}, first);
  apply_gauge({.transform = "residual-rotation", .seed = 4}, second);
  apply_gauge({.transform = "residual-rotation", .seed = 5}, third);
  const at::Tensor rows = first.find(Part::kEmbedding);
  EXPECT_TRUE(torch::equal(rows, second.find(Part::kEmbedding)));
  EXPECT_FALSE(torch::equal(rows, third.find(Part::kEmbedding)));
}

TEST(GaugeWeightsTest, FoldsTheFinalNormIntoAnUntiedHead) {
  ModelConfig config = small_config("llama");
  config.tie_word_embeddings = true;
  const Decoder original = lively_decoder(config, in_double());
  GaugeWeights weights(original);
  apply_gauge({.transform = "norm-fold"}, weights);
  EXPECT_FALSE(weights.config().tie_word_embeddings);
  // A number times its rounded reciprocal.
  EXPECT_LT(max_difference(weights.find(Part::kFinalNorm),
                           torch::ones({config.hidden_size}, torch::kDouble)),
            1e-15);
  EXPECT_EQ(max_difference(weights.find(Part::kEmbedding),
                           original.parameter("model.embed_tokens.weight")),
            0.0);
  const at::Tensor ids = some_ids(1, 9);
  EXPECT_LT(relative_error(weights.decoder().forward(ids).logits, original.forward(ids).logits),
            1e-12);
}

}  // namespace
}  // namespace lime
