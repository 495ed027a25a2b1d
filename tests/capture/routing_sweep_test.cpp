// SPDX-License-Identifier: Apache-2.0
// Interventions on weights over depth, experts and residual streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "capture/sweep.h"
#include "core/errors.h"
#include "model/model_fixture.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::activations;
using testing::golden_file;
using testing::golden_tensor;
using ::testing::HasSubstr;
using testing::in_double;
using testing::lively_decoder;
using testing::max_difference;
using testing::small_config;
using testing::some_ids;
using ::testing::ThrowsMessage;

CaptureInput whole_input(const at::Tensor& ids) {
  CaptureInput input;
  for (std::int64_t s = 0; s < ids.size(0); ++s) {
    std::vector<std::int32_t> row;
    for (std::int64_t t = 0; t < ids.size(1); ++t) row.push_back(ids[s][t].item<std::int32_t>());
    input.add({}, row, {});
  }
  return input;
}

SweepResult effect_of(const Decoder& decoder, const std::vector<std::string>& edits,
                      const at::Tensor& ids = some_ids(2, 9)) {
  const auto items = sweep_items(SweepOver::kEdits, read_edits(edits), "", decoder.config(), 0);
  return measure_sweep(decoder, whole_input(ids), items, {0, 1}, [] {});
}

ModelConfig with_experts(std::int64_t num_experts = 4) {
  ModelConfig config = small_config();
  config.spec.experts =
      ExpertsSpec{.num_experts = num_experts, .num_experts_per_tok = 2, .intermediate_size = 12};
  return config;
}

/// Returns the small config with this name of small_configs().
ModelConfig config_called(const std::string& name) {
  for (const testing::NamedConfig& known : testing::small_configs()) {
    if (known.name == name) return known.config;
  }
  throw InvalidArgument("no config is called '{}'", name);
}

TEST(RoutingSweepGoldenTest, EffectsEqualPyTorchWithHooks) {
  const Json golden = read_json_file(golden_file("effects.json"));
  int changed = 0;
  for (const Json& entry : golden["entries"]) {
    const auto model = golden_file("model/" + entry["model"].get<std::string>());
    const Decoder decoder = load_decoder(Checkpoint::open(model), in_double());
    const std::string text = entry["edit"];
    SCOPED_TRACE(entry["model"].get<std::string>() + ": " + text);
    const SweepResult result =
        effect_of(decoder, {text}, golden_tensor(model / "golden.h5", "ids"));
    for (Eigen::Index s = 0; s < 2; ++s) {
      const auto i = static_cast<std::size_t>(s);
      EXPECT_NEAR(result.loss(1, s), entry["loss"][i].get<double>(), 1e-9);
      EXPECT_NEAR(result.logit_difference(1, s), entry["logit_difference"][i].get<double>(), 1e-9);
      if (entry["attribution"].is_null()) continue;
      EXPECT_NEAR(result.attribution(1, s), entry["attribution"][i].get<double>(), 1e-9);
    }
    // No token selects one of the experts.
    changed += (result.loss.row(1) - result.loss.row(0)).norm() > 1e-6 ? 1 : 0;
  }
  EXPECT_GT(changed, 20);
}

/// Where the weights over depth do not depend on the streams, an output that no later part reads is
/// an output that is not there.
TEST(RoutingSweepTest, RemovingAnOutputFromAllReadsAblatesIt) {
  for (const char* const name : {"llama", "denseformer", "hyper_connections_static"}) {
    const Decoder decoder = lively_decoder(config_called(name), in_double());
    const SweepResult unread =
        effect_of(decoder, {"zero hook_depth_weights sources=3"});  // attention of layer 1
    const SweepResult absent = effect_of(decoder, {"zero hook_attn_out layers=1"});
    EXPECT_LT((unread.loss - absent.loss).cwiseAbs().maxCoeff(), 1e-11) << name;
    EXPECT_GT((unread.loss.row(1) - unread.loss.row(0)).norm(), 1e-4) << name;
  }
}

TEST(RoutingSweepTest, EditedRoutesAreThoseOfEditedRouters) {
  const Decoder decoder = lively_decoder(small_config("lime"), in_double());
  for (const std::string rest : {"layers=2 sources=0", "layers=1", "layers=2 heads=1 sources=1",
                                 "layers=1-2 heads=0 sources=0 source_heads=1"}) {
    const SweepResult parameters = effect_of(decoder, {"scale=0.3 route " + rest});
    const SweepResult passes = effect_of(decoder, {"scale=0.3 attn.hook_route " + rest});
    EXPECT_LT((parameters.loss - passes.loss).cwiseAbs().maxCoeff(), 1e-12) << rest;
    EXPECT_LT((parameters.attribution - passes.attribution).cwiseAbs().maxCoeff(), 1e-12) << rest;
    EXPECT_GT((passes.loss.row(1) - passes.loss.row(0)).norm(), 1e-6) << rest;
  }
}

TEST(RoutingSweepTest, AWeightOfResFormerScalesItsValues) {
  const Decoder decoder = lively_decoder(small_config("resformer"), in_double());
  const SweepResult route = effect_of(decoder, {"zero attn.hook_route layers=2 sources=2"});
  const SweepResult values = effect_of(decoder, {"zero attn.hook_v layers=2"});
  EXPECT_LT((route.loss - values.loss).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(RoutingSweepTest, ReadersSeeTheEditedWeights) {
  for (const char* const name : {"llama", "mhc", "mudd", "attn_res"}) {
    const Decoder decoder = lively_decoder(small_config(name), in_double());
    const std::vector<std::string_view> reads = depth_reads(decoder.config(), 2);
    EditHooks edited(read_edits({fmt::format("zero hook_depth_weights layers=2 sources=1 reads={},"
                                             "mlp,final",
                                             reads.front())})
                         .activations,
                     decoder.config());
    HookSet hooks;
    const auto registered = edited.attach(hooks);
    at::Tensor weights;
    const ScopedHook reader =
        hooks.read({HookKind::kDepthWeights, 2},
                   [&](const HookPoint&, const at::Tensor& x) { weights = x.clone(); });
    decoder.forward(some_ids(2, 5), {.hooks = &hooks});
    for (std::size_t read = 0; read < reads.size(); ++read) {
      const at::Tensor own = weights.select(2, static_cast<std::int64_t>(read)).select(2, 1);
      const bool is_edited = reads[read] != "k" && reads[read] != "v";
      EXPECT_EQ(own.abs().max().item<double>() == 0.0, is_edited) << name << " " << reads[read];
    }
  }
}

TEST(RoutingSweepTest, FirstOrderEstimatesAreDerivatives) {
  const auto check = [](const ModelConfig& config, const std::string& edit) {
    const Decoder decoder = lively_decoder(config, in_double());
    const SweepResult whole = effect_of(decoder, {"scale=2 " + edit});
    const SweepResult tiny = effect_of(decoder, {"scale=1.00001 " + edit});
    for (Eigen::Index s = 0; s < 2; ++s) {
      EXPECT_NEAR((tiny.loss(1, s) - tiny.loss(0, s)) * 1e5, whole.attribution(1, s), 1e-3) << edit;
    }
    EXPECT_GT(whole.attribution.norm(), 1e-6) << edit;
  };
  check(small_config("mhc"), "hook_depth_weights layers=2 sources=1");
  check(small_config("mudd"), "hook_depth_weights layers=1-2 reads=v,mlp");
  check(small_config("mhc"), "hook_streams layers=1 streams=0");
  check(small_config("hyper_connections"), "hook_streams layers=0");
  check(small_config("depth_attention"), "attn.hook_route layers=2 sources=0");
  check(with_experts(), "mlp.hook_expert_weights layers=1 experts=0,2");
  check(with_experts(), "mlp.hook_router_logits layers=1 experts=1");
}

TEST(RoutingSweepTest, AMaskedExpertIsNeverSelected) {
  const Decoder decoder = lively_decoder(with_experts(), in_double());
  EditHooks edited(read_edits({"mask mlp.hook_router_logits layers=1 experts=0,3"}).activations,
                   decoder.config());
  HookSet hooks;
  const auto registered = edited.attach(hooks);
  at::Tensor chosen;
  at::Tensor weights;
  const ScopedHook indices =
      hooks.read({HookKind::kExpertIndices, 1},
                 [&](const HookPoint&, const at::Tensor& x) { chosen = x.clone(); });
  const ScopedHook reader =
      hooks.read({HookKind::kExpertWeights, 1},
                 [&](const HookPoint&, const at::Tensor& x) { weights = x.clone(); });
  decoder.forward(some_ids(2, 9), {.hooks = &hooks});
  EXPECT_EQ(chosen.min().item<double>(), 1.0);
  EXPECT_EQ(chosen.max().item<double>(), 2.0);
  EXPECT_LT((weights.sum(-1) - 1.0).abs().max().item<double>(), 1e-12);
}

TEST(RoutingSweepTest, CoversEveryComponentOnce) {
  const auto count = [](SweepOver over, const ModelConfig& config, const char* operation = "zero") {
    return sweep_items(over, {}, operation, config, 5).size();
  };
  using enum SweepOver;
  EXPECT_EQ(count(kDepthWeights, small_config()), 1U + 2 + 3 + 4 + 5 + 6 + 7);
  EXPECT_EQ(count(kDepthWeights, small_config("mudd")), 3U + 2 + 9 + 4 + 15 + 6 + 7);
  EXPECT_EQ(count(kDepthWeights, small_config("lime")), 5U);
  EXPECT_EQ(count(kDepthWeights, small_config("resformer")), 4U);
  EXPECT_EQ(count(kExperts, with_experts(5)), 15U);
  EXPECT_EQ(count(kExperts, with_experts(5), "mask"), 15U);
  const ModelConfig mhc = small_config("mhc");
  EXPECT_EQ(count(kStreams, mhc), static_cast<std::size_t>(3 * (2 * mhc.mhc.hc_mult + 1)));
}

TEST(RoutingSweepTest, MasksHaveNoFirstOrderEstimate) {
  const Decoder decoder = lively_decoder(with_experts(), in_double());
  const auto items = sweep_items(SweepOver::kExperts, {}, "mask", decoder.config(), 0);
  EXPECT_FALSE(items.front().has_estimate());
  const SweepResult result =
      measure_sweep(decoder, whole_input(some_ids(2, 9)), items, {0, 1}, [] {});
  EXPECT_EQ(result.attribution.norm(), 0.0);
  EXPECT_GT((result.loss.row(1) - result.loss.row(0)).norm(), 1e-6);
}

TEST(RoutingSweepTest, MeasuresTheChangeOfLaterLayers) {
  const Decoder decoder = lively_decoder(small_config(), in_double());
  const at::Tensor ids = some_ids(2, 9);
  const auto items = sweep_items(SweepOver::kLayers, {}, "zero", decoder.config(), 0);
  const SweepResult result = measure_sweep(
      decoder, whole_input(ids), items, {0, 1}, [] {}, /*measures_later=*/true);
  ASSERT_EQ(result.later.rows(), 9);
  HookSet hooks;
  EditHooks edited(items[0].edits.activations, decoder.config());
  const auto registered = edited.attach(hooks);
  const std::vector<std::string> sites = {"*.hook_attn_out", "*.hook_mlp_out"};
  const auto before = activations(decoder, ids, sites);
  std::map<std::string, at::Tensor> after;
  std::vector<ScopedHook> readers;
  for (const HookKind kind : {HookKind::kAttnOut, HookKind::kMlpOut}) {
    readers.push_back(hooks.read({kind, 2}, [&](const HookPoint& point, const at::Tensor& x) {
      after[hook_name(point)] = x.clone();
    }));
  }
  decoder.forward(ids, {.hooks = &hooks});
  const auto written = [](const std::map<std::string, at::Tensor>& found) {
    return found.at("blocks.2.hook_attn_out") + found.at("blocks.2.hook_mlp_out");
  };
  const at::Tensor change =
      (written(after) - written(before)).norm(2, {2}) / written(before).norm(2, {2});
  for (Eigen::Index s = 0; s < 2; ++s) {
    EXPECT_NEAR(result.later(2, s), change[s].mean().item<double>(), 1e-12);
    EXPECT_NEAR(result.later(0, s), 1.0, 1e-12) << "it is skipped";
    EXPECT_EQ(result.later(3, s), 0.0) << "layer 0 before layer 1";
  }
}

TEST(RoutingSweepTest, NamesWhatIsMissing) {
  const auto refuses = [](const ModelConfig& config, const std::vector<std::string>& edits,
                          const std::string& message) {
    EXPECT_THAT([&] { check_edits(read_edits(edits), config); },
                ThrowsMessage<InvalidArgument>(HasSubstr(message)));
  };
  const ModelConfig moe = with_experts();
  refuses(moe, {"mask mlp.hook_router_logits layers=1 experts=0-2"},
          "edit 'mask mlp.hook_router_logits layers=1 experts=0-2': leaves 1 of 4 experts in layer "
          "1, but each token selects 2; mask fewer, or zero mlp.hook_expert_weights");
  refuses(moe, {"mask mlp.hook_router_logits experts=0", "mask mlp.hook_router_logits experts=1-2"},
          "leaves 1 of 4 experts in layer 0");
  refuses(moe, {"mask mlp.hook_router_logits experts=4"},
          "experts: expert 4 does not exist (available: 0-3)");
  refuses(moe, {"mask mlp.hook_router_logits"}, "mask needs experts, e.g. experts=3");
  refuses(moe, {"mean mlp.hook_expert_weights experts=0"},
          "'mlp.hook_expert_weights' can be edited by zero and scale only");
  refuses(small_config(), {"zero mlp.hook_expert_weights experts=0"},
          "it needs a mixture of experts");
  refuses(small_config(), {"zero hook_streams"}, "only hyper_connections and mhc have several");
  refuses(small_config("mhc"), {"zero hook_streams streams=99"},
          "streams: stream 99 does not exist");
  refuses(config_called("lime_per_dimension"), {"zero attn.hook_route layers=1"},
          "have a weight per dimension; use route");
  EXPECT_THAT([&] { sweep_items(SweepOver::kExperts, {}, "zero", small_config(), 0); },
              ThrowsMessage<InvalidArgument>(HasSubstr("has no mixture of experts")));
  EXPECT_THAT([&] { sweep_items(SweepOver::kStreams, {}, "zero", small_config(), 0); },
              ThrowsMessage<InvalidArgument>(HasSubstr("has one residual stream")));
  // At single positions, a mask that leaves too few experts is found in the pass.
  const Decoder decoder = lively_decoder(moe, in_double());
  EXPECT_THAT(
      [&] { effect_of(decoder, {"mask mlp.hook_router_logits experts=0-2 positions=3"}); },
      ThrowsMessage<InvalidArgument>(HasSubstr("leaves 1 of 4 experts to a token in layer 0")));
}

}  // namespace
}  // namespace lime
