// SPDX-License-Identifier: Apache-2.0
#include "model/passes/hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/errors.h"
#include "model/model_fixture.h"

namespace lime {
namespace {

using testing::activations;
using testing::config_name;
using testing::in_double;
using testing::lively_decoder;
using testing::max_difference;
using testing::NamedConfig;
using testing::small_configs;
using testing::some_ids;
using ::testing::ThrowsMessage;

/// Copies its argument: must change nothing.
at::Tensor copied(const HookPoint&, const at::Tensor& activation) { return activation.clone(); }

TEST(HookSetTest, WantsOnlyWhatIsListenedTo) {
  HookSet hooks;
  EXPECT_FALSE(hooks.wants(HookKind::kV, 3));
  {
    const ScopedHook hook = hooks.read({HookKind::kV, 3}, [](const HookPoint&, const auto&) {});
    EXPECT_TRUE(hooks.wants(HookKind::kV, 3));
    EXPECT_FALSE(hooks.wants(HookKind::kV, 2));
    EXPECT_FALSE(hooks.wants(HookKind::kV, 4));
    EXPECT_FALSE(hooks.wants(HookKind::kK, 3));
  }
  EXPECT_FALSE(hooks.wants(HookKind::kV, 3));
}

TEST(HookSetTest, OneListenerMayGoWhileAnotherStays) {
  HookSet hooks;
  ScopedHook first = hooks.edit({HookKind::kV, 0}, copied);
  const ScopedHook second = hooks.edit({HookKind::kV, 0}, copied);
  first.release();
  EXPECT_TRUE(hooks.wants(HookKind::kV, 0));
}

/// Otherwise the address sanitizer reports an error (scripts/sanitize.sh).
TEST(HookSetTest, AListenerMayOutliveTheSet) {
  ScopedHook hook;
  {
    HookSet hooks;
    hook = hooks.edit({HookKind::kV, 0}, copied);
  }
  EXPECT_NO_THROW(hook.release());
}

TEST(HookSetTest, ListenersSeeWhatTheOnesBeforeThemPut) {
  HookSet hooks;
  const HookPoint point{HookKind::kZ, 1};
  const ScopedHook doubling =
      hooks.edit(point, [](const HookPoint&, const at::Tensor& x) { return x * 2; });
  double seen = 0.0;
  const ScopedHook reader = hooks.read(
      point, [&](const HookPoint&, const at::Tensor& x) { seen = x.sum().item<double>(); });
  const ScopedHook silent =
      hooks.edit(point, [](const HookPoint&, const at::Tensor&) { return at::Tensor(); });
  const at::Tensor result = hooks.run(HookKind::kZ, 1, torch::ones({3}));
  EXPECT_EQ(seen, 6.0);
  EXPECT_EQ(result.sum().item<double>(), 6.0);
}

TEST(HookSetTest, PointsAreInTheOrderOfAPass) {
  HookSet hooks;
  const ScopedHook a = hooks.edit({HookKind::kFinalNormalized, 0}, copied);
  const ScopedHook b = hooks.edit({HookKind::kQ, 2}, copied);
  const ScopedHook c = hooks.edit({HookKind::kResidPost, 1}, copied);
  const ScopedHook d = hooks.edit({HookKind::kEmbed, 0}, copied);
  EXPECT_THAT(
      hooks.points(),
      ::testing::ElementsAre(HookPoint{HookKind::kEmbed, 0}, HookPoint{HookKind::kResidPost, 1},
                             HookPoint{HookKind::kQ, 2}, HookPoint{HookKind::kFinalNormalized, 0}));
}

TEST(HookSetTest, AReplacementMustFit) {
  HookSet hooks;
  const ScopedHook hook = hooks.edit({HookKind::kV, 3}, [](const HookPoint&, const at::Tensor&) {
    return torch::ones({2, 1});
  });
  EXPECT_THAT(
      [&] {
        hooks.run(HookKind::kV, 3, torch::ones({2, 2}));
      },
      ThrowsMessage<InvalidArgument>(
          "hooks: a replacement for 'blocks.3.attn.hook_v' must have shape [2, 2], got [2, "
          "1]"));
  EXPECT_THROW(hooks.run(HookKind::kV, 3, torch::ones({2, 1}, torch::kDouble)), InvalidArgument);
}

class DecoderHooksTest : public ::testing::TestWithParam<NamedConfig> {
 protected:
  const Decoder decoder_ = lively_decoder(GetParam().config, in_double());
  const at::Tensor ids_ = some_ids(2, 9);
};

TEST_P(DecoderHooksTest, EveryPointIsReachedWithItsShape) {
  const auto found = activations(decoder_, ids_, {"*"});
  const bool is_gated = GetParam().config.spec.gated_mlp;
  EXPECT_EQ(found.size(), all_hook_points(3).size() - (is_gated ? 0 : 3));
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
  EXPECT_EQ(shape("blocks.1.attn.hook_attn_scores"), (Sizes{2, 4, 9, 9}));
  EXPECT_EQ(shape("blocks.1.attn.hook_pattern"), (Sizes{2, 4, 9, 9}));
  for (const char* name : {"pre", "pre_linear", "post"}) {
    if (name == std::string("pre_linear") && !is_gated) continue;
    EXPECT_EQ(shape(std::string("blocks.1.mlp.hook_") + name), (Sizes{2, 9, 40})) << name;
  }
}

TEST_P(DecoderHooksTest, ActivationsObeyTheEquationsOfTheBlock) {
  const auto found = activations(decoder_, ids_, {"*"});
  const auto at = [&](const std::string& name) { return found.at("blocks.2." + name); };
  const ModelConfig& config = GetParam().config;
  const bool has_streams = config.routing == DepthRouting::kHyperConnections;
  const bool is_sum = config.spec.norm_placement != NormPlacement::kAfterSum && !has_streams;
  // Sums of two float64 numbers: equal up to rounding.
  if (is_sum) {
    EXPECT_LT(max_difference(at("hook_resid_pre") + at("hook_attn_out"), at("hook_resid_mid")),
              1e-14);
  }
  if (is_sum && config.routing != DepthRouting::kDenseFormer) {
    EXPECT_LT(max_difference(at("hook_resid_mid") + at("hook_mlp_out"), at("hook_resid_post")),
              1e-14);
  }
  EXPECT_EQ(max_difference(found.at("blocks.1.hook_resid_post"), at("hook_resid_pre")), 0.0);
  if (config.spec.activation == Activation::kSilu) {
    EXPECT_LT(max_difference(torch::silu(at("mlp.hook_pre")) * at("mlp.hook_pre_linear"),
                             at("mlp.hook_post")),
              1e-13);
  }
  EXPECT_LT(max_difference(at("attn.hook_pattern").sum(-1), torch::ones({2, 4, 9})), 1e-13);
  const at::Tensor routed_is_own = at("attn.hook_routed_v") - at("attn.hook_v");
  const bool mixes =
      config.routing == DepthRouting::kLime ||
      (config.routing == DepthRouting::kResFormer && !config.first_layer_values_only);
  EXPECT_EQ(routed_is_own.abs().max().item<double>() != 0.0, mixes);
  const at::Tensor normalized = found.at("ln_final.hook_normalized");
  if (!config.spec.has_final_norm) return;
  EXPECT_LT(max_difference(normalized.square().mean(-1), torch::ones({2, 9})), 1e-4);
}

TEST_P(DecoderHooksTest, ReadingChangesNoBit) {
  const at::Tensor bare = decoder_.forward(ids_).logits;
  for (const HookPoint& point : all_hook_points(3)) {
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

TEST_P(DecoderHooksTest, ReplacingByTheSameChangesNothing) {
  const at::Tensor bare = decoder_.forward(ids_).logits;
  for (const HookPoint& point : all_hook_points(3)) {
    HookSet hooks;
    const ScopedHook editor = hooks.edit(point, copied);
    EXPECT_LT(max_difference(decoder_.forward(ids_, {.hooks = &hooks}).logits, bare), 1e-12)
        << hook_name(point);
  }
}

TEST_P(DecoderHooksTest, AblatingAnyPointChangesTheLogits) {
  const at::Tensor bare = decoder_.forward(ids_).logits;
  const bool last_is_unread = GetParam().config.lime.router == RouterKind::kFirstAndPrevious;
  for (const HookPoint& point : all_hook_points(3)) {
    const bool is_key_or_value = point.kind == HookKind::kK || point.kind == HookKind::kV;
    if (last_is_unread && point.layer == 2 && is_key_or_value) continue;
    if (point.kind == HookKind::kMlpPreLinear && !GetParam().config.spec.gated_mlp) continue;
    HookSet hooks;
    // Not one factor for all dimensions, which the next RMSNorm would undo.
    const ScopedHook editor = hooks.edit(point, [](const HookPoint&, const at::Tensor& x) {
      return x * torch::linspace(0.5, 1.5, x.size(-1), x.options());
    });
    EXPECT_GT(max_difference(decoder_.forward(ids_, {.hooks = &hooks}).logits, bare), 1e-6)
        << hook_name(point);
  }
}

TEST_P(DecoderHooksTest, APassNeverWritesOverWhatAnEditorReturned) {
  const auto before = activations(decoder_, ids_, {"*"});
  std::map<std::string, at::Tensor> patches = before;
  for (auto& entry : patches) entry.second = entry.second.clone();
  HookSet hooks;
  std::vector<ScopedHook> editors;
  for (const HookPoint& point : all_hook_points(3)) {
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

INSTANTIATE_TEST_SUITE_P(Decoders, DecoderHooksTest, ::testing::ValuesIn(small_configs()),
                         config_name);

}  // namespace
}  // namespace lime
