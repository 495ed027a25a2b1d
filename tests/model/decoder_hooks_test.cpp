// SPDX-License-Identifier: Apache-2.0
// The hook points that the passes of decoders reach, and the equations between their activations.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/router_layout.h"
#include "core/errors.h"
#include "metrics/attention/attention_profile.h"
#include "model/kernels/attention.h"
#include "model/model_fixture.h"
#include "model/passes/hooks.h"

namespace lime {
namespace {

using testing::activations;
using testing::all_hook_points;
using testing::config_name;
using testing::copied;
using testing::in_double;
using testing::is_read_only;
using testing::lively_decoder;
using testing::max_difference;
using testing::NamedConfig;
using testing::relative_error;
using testing::small_configs;
using testing::some_ids;
using ::testing::ThrowsMessage;

class DecoderHooksTest : public ::testing::TestWithParam<NamedConfig> {
 protected:
  /// Returns the points that a pass of three layers reaches.
  static std::vector<HookPoint> points() {
    std::vector<HookPoint> points = all_hook_points(3);
    std::erase_if(points,
                  [](const HookPoint& point) { return !has_hook(GetParam().config, point); });
    return points;
  }

  const Decoder decoder_ = lively_decoder(GetParam().config, in_double());
  const at::Tensor ids_ = some_ids(2, 9);
};

TEST_P(DecoderHooksTest, EveryPointIsReachedWithItsShape) {
  const auto found = activations(decoder_, ids_, {"*"});
  const bool is_gated = GetParam().config.spec.gated_mlp;
  EXPECT_EQ(found.size(), points().size());
  const auto shape = [&](const std::string& name) { return found.at(name).sizes().vec(); };
  using Sizes = std::vector<std::int64_t>;
  for (const char* name : {"hook_embed", "blocks.1.hook_resid_pre", "blocks.1.hook_resid_mid",
                           "blocks.1.hook_resid_post", "blocks.1.hook_attn_out",
                           "blocks.1.hook_mlp_out", "ln_final.hook_normalized"}) {
    EXPECT_EQ(shape(name), (Sizes{2, 9, 24})) << name;
  }
  for (const char* name : {"q", "rot_q", "z"}) {
    EXPECT_EQ(shape(std::string("blocks.1.attn.hook_") + name), (Sizes{2, 9, 4, 6})) << name;
  }
  const std::int64_t heads = GetParam().config.num_key_value_heads;
  for (const char* name : {"k", "v", "routed_k", "routed_v", "rot_k"}) {
    EXPECT_EQ(shape(std::string("blocks.1.attn.hook_") + name), (Sizes{2, 9, heads, 6})) << name;
  }
  const ModelConfig& config = GetParam().config;
  EXPECT_EQ(shape("blocks.1.attn.hook_route"), (Sizes{2, 9, heads, route_width(config, 1)}));
  EXPECT_EQ(shape("blocks.2.hook_depth_weights"),
            (Sizes{2, 9, std::ssize(depth_reads(config, 2)), num_depth_sources(config, 2)}));
  for (const char* name : {"result", "value_result"}) {
    EXPECT_EQ(shape(std::string("blocks.1.attn.hook_") + name), (Sizes{2, 9, 4, 24})) << name;
  }
  EXPECT_EQ(shape("blocks.1.attn.hook_attn_scores"), (Sizes{2, 4, 9, 9}));
  EXPECT_EQ(shape("blocks.1.attn.hook_pattern"), (Sizes{2, 4, 9, 9}));
  const bool has_experts = config.spec.experts.has_value();
  if (has_experts) {
    EXPECT_EQ(shape("blocks.1.mlp.hook_router_logits"),
              (Sizes{2, 9, config.spec.experts->num_experts}));
    EXPECT_EQ(shape("blocks.1.mlp.hook_expert_weights"), (Sizes{2, 9, 2}));
    EXPECT_EQ(shape("blocks.1.mlp.hook_expert_indices"), (Sizes{2, 9, 2}));
  }
  for (const char* name : {"pre", "pre_linear", "post"}) {
    if (has_experts || (name == std::string("pre_linear") && !is_gated)) continue;
    EXPECT_EQ(shape(std::string("blocks.1.mlp.hook_") + name), (Sizes{2, 9, 40})) << name;
  }
}

TEST_P(DecoderHooksTest, ActivationsObeyTheEquationsOfTheBlock) {
  const auto found = activations(decoder_, ids_, {"*"});
  const auto at = [&](const std::string& name) { return found.at("blocks.2." + name); };
  const ModelConfig& config = GetParam().config;
  const bool has_streams = config.routing == DepthRouting::kHyperConnections ||
                           config.routing == DepthRouting::kAttentionResiduals ||
                           config.routing == DepthRouting::kManifoldHyperConnections;
  const bool is_sum = config.spec.norm_placement != NormPlacement::kAfterSum && !has_streams;
  // Sums of two float64 numbers: equal up to rounding.
  if (is_sum) {
    EXPECT_LT(max_difference(at("hook_resid_pre") + at("hook_attn_out"), at("hook_resid_mid")),
              1e-14);
  }
  if (is_sum && config.routing != DepthRouting::kDenseFormer &&
      config.routing != DepthRouting::kMudd) {
    EXPECT_LT(max_difference(at("hook_resid_mid") + at("hook_mlp_out"), at("hook_resid_post")),
              1e-14);
  }
  EXPECT_EQ(max_difference(found.at("blocks.1.hook_resid_post"), at("hook_resid_pre")), 0.0);
  if (config.spec.activation == Activation::kSilu && !config.spec.experts) {
    EXPECT_LT(max_difference(torch::silu(at("mlp.hook_pre")) * at("mlp.hook_pre_linear"),
                             at("mlp.hook_post")),
              1e-13);
  }
  if (!config.spec.attention_sinks) {
    EXPECT_LT(max_difference(at("attn.hook_pattern").sum(-1), torch::ones({2, 4, 9})), 1e-13);
  }
  const at::Tensor routed_is_own = at("attn.hook_routed_v") - at("attn.hook_v");
  const bool mixes =
      config.routing == DepthRouting::kLime || config.routing == DepthRouting::kDepthAttention ||
      (config.routing == DepthRouting::kResFormer && !config.first_layer_values_only);
  EXPECT_EQ(routed_is_own.abs().max().item<double>() != 0.0, mixes);
  const at::Tensor normalized = found.at("ln_final.hook_normalized");
  if (!config.spec.has_final_norm) return;
  EXPECT_LT(max_difference(normalized.square().mean(-1), torch::ones({2, 9})), 1e-4);
}

TEST_P(DecoderHooksTest, ReadingChangesNoBit) {
  const at::Tensor bare = decoder_.forward(ids_).logits;
  for (const HookPoint& point : points()) {
    const bool needs_scores =
        point.kind == HookKind::kAttnScores || point.kind == HookKind::kPattern;
    HookSet hooks;
    const ScopedHook reader = hooks.read(point, [](const HookPoint&, const at::Tensor&) {});
    const double difference =
        max_difference(decoder_.forward(ids_, {.hooks = &hooks}).logits, bare);
    // Materialised scores and ln_final's two steps round differently from the fused kernels.
    const bool is_refused = needs_scores || point.kind == HookKind::kFinalNormalized;
    EXPECT_LE(difference, is_refused ? 1e-12 : 0.0) << hook_name(point);
  }
}

TEST_P(DecoderHooksTest, ProfilesAreThoseOfThePatterns) {
  const auto profiles = activations(decoder_, ids_, {"*.hook_profile"});
  const auto patterns = activations(decoder_, ids_, {"*.hook_pattern", "*.hook_profile"});
  for (const auto& [name, profile] : profiles) {
    EXPECT_LT(max_difference(profile, patterns.at(name)), 1e-12) << name;
    if (GetParam().config.spec.attention_sinks) continue;  // lime-metrics refuses such patterns
    const at::Tensor pattern =
        patterns.at(name.substr(0, name.find("hook_profile")) + "hook_pattern");
    for (std::int64_t head = 0; head < pattern.size(1); ++head) {
      const at::Tensor one = pattern[1][head].to(at::kFloat).contiguous();
      const MatrixD expected =
          attention_profile(Eigen::Map<const MatrixF>(one.data_ptr<float>(), 9, 9));
      for (std::int64_t q = 0; q < 9; ++q) {
        for (std::int64_t m = 0; m < kProfileSize; ++m) {
          EXPECT_NEAR(profile[1][q][head][m].item<double>(), expected(q, m), 2e-6) << name;
        }
      }
    }
  }
}

TEST_P(DecoderHooksTest, HeadsAddUpToTheOutputOfAttention) {
  const ModelConfig& config = GetParam().config;
  const auto all =
      activations(decoder_, ids_,
                  {"*.hook_result", "*.hook_value_result", "*.hook_pattern", "*.hook_attn_out"});
  for (int layer = 0; layer < config.num_hidden_layers; ++layer) {
    const auto of = [&](const char* name) {
      return all.at(fmt::format("blocks.{}.{}", layer, name)).to(at::kDouble);
    };
    // What a head adds is its pattern times what the tokens offer.
    const at::Tensor offered = of("attn.hook_value_result").transpose(1, 2);
    const at::Tensor expected = at::matmul(of("attn.hook_pattern"), offered).transpose(1, 2);
    EXPECT_LT(max_difference(of("attn.hook_result"), expected), 1e-11) << layer;
    const bool is_more = config.spec.o_bias || config.spec.residual_multiplier != 1.0 ||
                         config.spec.norm_placement == NormPlacement::kAfter ||
                         config.spec.norm_placement == NormPlacement::kBoth;
    if (is_more) continue;
    EXPECT_LT(max_difference(of("hook_attn_out"), of("attn.hook_result").sum(2)), 1e-11) << layer;
  }
}

TEST_P(DecoderHooksTest, ReplacingByTheSameChangesNothing) {
  const at::Tensor bare = decoder_.forward(ids_).logits;
  for (const HookPoint& point : points()) {
    if (is_read_only(point.kind)) continue;
    HookSet hooks;
    const ScopedHook editor = hooks.edit(point, copied);
    EXPECT_LT(max_difference(decoder_.forward(ids_, {.hooks = &hooks}).logits, bare), 1e-12)
        << hook_name(point);
  }
}

TEST_P(DecoderHooksTest, AblatingAnyPointChangesTheLogits) {
  const at::Tensor bare = decoder_.forward(ids_).logits;
  const bool last_is_unread = GetParam().config.lime.router == RouterKind::kFirstAndPrevious;
  for (const HookPoint& point : points()) {
    if (is_read_only(point.kind)) continue;
    const bool is_key_or_value = point.kind == HookKind::kK || point.kind == HookKind::kV;
    if (last_is_unread && point.layer == 2 && is_key_or_value) continue;
    HookSet hooks;
    // Not one factor for all dimensions, which the next RMSNorm would undo.
    const ScopedHook editor = hooks.edit(point, [](const HookPoint&, const at::Tensor& x) {
      return x * torch::linspace(0.5, 1.5, x.size(-1), x.options());
    });
    EXPECT_GT(max_difference(decoder_.forward(ids_, {.hooks = &hooks}).logits, bare), 1e-8)
        << hook_name(point);
  }
}

TEST_P(DecoderHooksTest, APassNeverWritesOverWhatAnEditorReturned) {
  const auto before = activations(decoder_, ids_, {"*"});
  std::map<std::string, at::Tensor> patches = before;
  for (auto& entry : patches) entry.second = entry.second.clone();
  HookSet hooks;
  std::vector<ScopedHook> editors;
  for (const HookPoint& point : points()) {
    if (is_read_only(point.kind)) continue;
    editors.push_back(hooks.edit(
        point, [&](const HookPoint& at, const at::Tensor&) { return patches.at(hook_name(at)); }));
  }
  decoder_.forward(ids_, {.hooks = &hooks});
  for (const auto& [name, patch] : patches) {
    EXPECT_TRUE(torch::equal(patch, before.at(name))) << name;
  }
}

TEST_P(DecoderHooksTest, AnEditAtOnePositionReachesLaterPositionsOnly) {
  const at::Tensor bare = decoder_.forward(ids_).logits;
  HookSet hooks;
  const ScopedHook editor =
      hooks.edit({HookKind::kResidPost, 0}, [](const HookPoint&, const at::Tensor& x) {
        at::Tensor edited = x.clone();
        edited.select(1, 4).zero_();
        return edited;
      });
  const at::Tensor edited = decoder_.forward(ids_, {.hooks = &hooks}).logits;
  EXPECT_EQ(max_difference(edited.narrow(1, 0, 4), bare.narrow(1, 0, 4)), 0.0);
  for (std::int64_t position = 4; position < 9; ++position) {
    EXPECT_GT(max_difference(edited.select(1, position), bare.select(1, position)), 1e-6);
  }
}

/// What is read of the residual stream is the sum of all outputs with the weights of depth.
TEST_P(DecoderHooksTest, WeightsOfDepthRebuildTheStream) {
  const ModelConfig& config = GetParam().config;
  if (config.spec.norm_placement == NormPlacement::kAfterSum ||
      config.spec.learned_position_offset) {
    GTEST_SKIP() << "the stream contains more than embedding and outputs";
  }
  const auto found = activations(decoder_, ids_, {"*"});
  std::vector<at::Tensor> outputs = {found.at("hook_embed")};
  for (int layer = 0; layer < 3; ++layer) {
    outputs.push_back(found.at(hook_name({HookKind::kAttnOut, layer})));
    outputs.push_back(found.at(hook_name({HookKind::kMlpOut, layer})));
  }
  const at::Tensor sources = torch::stack(outputs, 2);
  for (int layer = 0; layer < 3; ++layer) {
    const at::Tensor weights = found.at(hook_name({HookKind::kDepthWeights, layer}));
    const at::Tensor read = torch::matmul(weights, sources.narrow(2, 0, weights.size(3)));
    const std::vector<std::string_view> names = depth_reads(config, layer);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const bool is_final = names[i] == "final";
      // That of a Hyper-Connection is no hook point; the others see their sum.
      if (names[i] != "mlp" && !is_final) continue;
      if (!is_final && config.routing == DepthRouting::kHyperConnections) continue;
      if (!is_final && config.spec.parallel_residual) continue;
      const HookKind kind = is_final ? HookKind::kResidPost : HookKind::kResidMid;
      const at::Tensor expected = found.at(hook_name({kind, layer}));
      EXPECT_LT(relative_error(read.select(2, static_cast<std::int64_t>(i)), expected), 1e-12)
          << hook_name({kind, layer});
    }
  }
}

/// Streams after a block follow from those before it, the outputs of its parts and the weights.
TEST_P(DecoderHooksTest, StreamWeightsRebuildTheStreams) {
  const std::int64_t count = num_streams(GetParam().config);
  const auto found = activations(decoder_, ids_, {"*"});
  if (count == 0) {
    EXPECT_FALSE(found.contains("blocks.0.hook_streams"));
    return;
  }
  at::Tensor streams = found.at("hook_embed").unsqueeze(2).expand({-1, -1, count, -1});
  for (int layer = 0; layer < 3; ++layer) {
    const at::Tensor weights = found.at(hook_name({HookKind::kStreamWeights, layer}));
    ASSERT_EQ(weights.sizes(), (std::vector<std::int64_t>{2, 9, 2 * count, count + 2}));
    int part = 0;
    for (const HookKind output : {HookKind::kAttnOut, HookKind::kMlpOut}) {
      const at::Tensor own = weights.narrow(2, count * part++, count);
      if (GetParam().config.routing == DepthRouting::kManifoldHyperConnections) {
        const HookKind input = part == 1 ? HookKind::kResidPre : HookKind::kResidMid;
        const at::Tensor read = (own.select(3, 0).unsqueeze(-1) * streams).sum(2);
        EXPECT_LT(relative_error(read, found.at(hook_name({input, layer}))), 1e-12);
      }
      streams = torch::matmul(own.narrow(3, 2, count), streams) +
                own.narrow(3, 1, 1) * found.at(hook_name({output, layer})).unsqueeze(2);
    }
    EXPECT_LT(relative_error(found.at(hook_name({HookKind::kStreams, layer})), streams), 1e-12);
  }
}

/// The values that attention reads are the sum of those of all layers with the weights of the
/// route.
TEST_P(DecoderHooksTest, TheRouteRebuildsTheValues) {
  const ModelConfig& config = GetParam().config;
  if (config.lime.per_dimension) GTEST_SKIP() << "the route is a mean over dimensions";
  const auto found = activations(decoder_, ids_, {"*"});
  const bool is_recursive = config.routing == DepthRouting::kDepthAttention;
  std::vector<at::Tensor> values;
  for (int layer = 0; layer < 3; ++layer) {
    const bool is_mixed = is_recursive && layer < 2;
    values.push_back(found.at(hook_name({is_mixed ? HookKind::kRoutedV : HookKind::kV, layer})));
  }
  const at::Tensor route = found.at("blocks.2.attn.hook_route");
  const bool mixes_heads = route.size(3) > 3;
  const at::Tensor read = mixes_heads ? torch::matmul(route, torch::cat(values, 2))
                                      : (route.unsqueeze(-1) * torch::stack(values, 3)).sum(3);
  EXPECT_LT(relative_error(read, found.at("blocks.2.attn.hook_routed_v")), 1e-12);
}

/// The decoders with mixtures of experts.
class ExpertsHooksTest : public DecoderHooksTest {};

/// Softmax, selection and the sum of the experts, from the logits of the router.
TEST_P(ExpertsHooksTest, ExpertsFollowFromTheLogits) {
  const std::optional<ExpertsSpec>& experts = GetParam().config.spec.experts;
  const auto found = activations(decoder_, ids_, {"*"});
  const at::Tensor logits = found.at("blocks.1.mlp.hook_router_logits");
  const auto [largest, indices] = torch::topk(logits, experts->num_experts_per_tok, -1);
  const at::Tensor weights = experts->normalizes_weights
                                 ? torch::softmax(largest, -1)
                                 : torch::softmax(logits, -1).gather(-1, indices);
  EXPECT_LT(max_difference(found.at("blocks.1.mlp.hook_expert_weights"), weights), 1e-15);
  EXPECT_EQ(max_difference(found.at("blocks.1.mlp.hook_expert_indices"), indices), 0.0);
}

/// A replaced logit moves the token to other experts.
TEST_P(ExpertsHooksTest, ReplacedLogitsSelectOtherExperts) {
  HookSet hooks;
  const ScopedHook editor =
      hooks.edit({HookKind::kRouterLogits, 1}, [](const HookPoint&, const at::Tensor& x) {
        at::Tensor masked = x.clone();
        masked.narrow(-1, 0, 2).fill_(-std::numeric_limits<double>::infinity());
        return masked;
      });
  at::Tensor seen;
  const ScopedHook reader =
      hooks.read({HookKind::kExpertIndices, 1},
                 [&](const HookPoint&, const at::Tensor& x) { seen = x.clone(); });
  const at::Tensor logits = decoder_.forward(ids_, {.hooks = &hooks}).logits;
  EXPECT_EQ(seen.min().item<double>(), 2.0);
  EXPECT_TRUE(logits.isfinite().all().item<bool>());
  EXPECT_GT(max_difference(logits, decoder_.forward(ids_).logits), 1e-6);
}

TEST_P(DecoderHooksTest, FunctionsOfOtherPointsCannotBeReplaced) {
  HookSet hooks;
  const ScopedHook editor = hooks.edit({HookKind::kAttnProfile, 1}, copied);
  EXPECT_THAT([&] { decoder_.forward(ids_, {.hooks = &hooks}); },
              ThrowsMessage<InvalidArgument>(
                  "hooks: 'blocks.1.attn.hook_profile' can be read, not replaced"));
}

INSTANTIATE_TEST_SUITE_P(Decoders, DecoderHooksTest, ::testing::ValuesIn(small_configs()),
                         config_name);

auto configs_with_experts() {
  auto configs = small_configs();
  std::erase_if(configs, [](const auto& named) { return !named.config.spec.experts; });
  return configs;
}
INSTANTIATE_TEST_SUITE_P(Decoders, ExpertsHooksTest, ::testing::ValuesIn(configs_with_experts()),
                         config_name);

}  // namespace
}  // namespace lime
