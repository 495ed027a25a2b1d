// SPDX-License-Identifier: Apache-2.0
#include "capture/sites.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/errors.h"
#include "support/refusal.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelConfig grouped_query_config() {
  ModelConfig config;
  config.hidden_size = 48;
  config.intermediate_size = 96;
  config.num_hidden_layers = 3;
  config.num_attention_heads = 6;
  config.num_key_value_heads = 2;
  config.head_dim = 8;
  return config;
}

std::string sites_refusal(const std::vector<std::string>& names) {
  return testing::refusal_of<InvalidArgument>([&] { find_sites(names); });
}

TEST(SitesTest, KnowsShortWordsAndHooks) {
  EXPECT_THAT(
      find_sites({"values", "hidden", "attn.hook_z"}),
      ElementsAre(CaptureSite{"values", HookKind::kV}, CaptureSite{"hidden", HookKind::kResidPost},
                  CaptureSite{"attn.hook_z", HookKind::kZ}));
  EXPECT_THAT(find_sites({"attn.hook_v", "attn.hook_k"}),
              ElementsAre(CaptureSite{"values", HookKind::kV}, CaptureSite{"keys", HookKind::kK}));
}

TEST(SitesTest, ListsWhatThereIsForAnUnknownName) {
  EXPECT_THAT(
      sites_refusal({"vals"}),
      HasSubstr("sites: unknown site 'vals' (supported: values, routed_values, hidden, keys, "));
  EXPECT_THAT(sites_refusal({"attn.hook_attn_scores"}),
              HasSubstr("unknown site 'attn.hook_attn_scores'"));
  EXPECT_EQ(sites_refusal({"values", "values"}), "sites: 'values' is given twice");
  EXPECT_EQ(sites_refusal({"values", "attn.hook_v"}),
            "sites: 'values' is given twice; 'attn.hook_v' is another name of it");
}

TEST(SitesTest, PlansOneDatasetPerSiteAndLayer) {
  const auto activations = plan_activations(find_sites({"values", "hidden"}),
                                            LayerSelection::parse("0,2"), grouped_query_config());
  ASSERT_EQ(activations.size(), 4U);
  EXPECT_EQ(activations[1].site, "values");
  EXPECT_EQ(activations[1].layer, 2);
  EXPECT_EQ(activations[1].dim, 16);
  EXPECT_EQ(activations[1].hook, "blocks.2.attn.hook_v");
  EXPECT_EQ(activations[3].hook, "blocks.2.hook_resid_post");
  EXPECT_EQ(activations[3].dim, 48);
}

TEST(SitesTest, TakesTheLayersThatHaveASite) {
  ModelConfig config = grouped_query_config();
  const auto plan = [&](const std::string& site, const std::string& layers) {
    return plan_activations(find_sites({site}), LayerSelection::parse(layers), config);
  };
  const auto refusal = [&](const std::string& site, const std::string& layers) {
    return testing::refusal_of<InvalidArgument>([&] { plan(site, layers); });
  };
  EXPECT_EQ(refusal("mlp.hook_router_logits", "all"),
            "sites: no selected layer of 'llama' has 'mlp.hook_router_logits': it needs a mixture "
            "of experts");
  config.spec.experts =
      ExpertsSpec{.num_experts = 5, .num_experts_per_tok = 2, .intermediate_size = 7};
  config.spec.layers = {{}, {.is_dense = true}, {}};
  const auto logits = plan("mlp.hook_router_logits", "all");
  ASSERT_EQ(logits.size(), 2U);
  EXPECT_EQ(logits[1].layer, 2);
  EXPECT_EQ(logits[1].dim, 5);
  EXPECT_EQ(plan("mlp.hook_expert_indices", "0").front().dim, 2);
  const auto post = plan("mlp.hook_post", "all");
  ASSERT_EQ(post.size(), 1U);
  EXPECT_EQ(post.front().layer, 1);
  EXPECT_EQ(post.front().dim, 96);
  EXPECT_THAT(refusal("mlp.hook_post", "0"), HasSubstr("no selected layer of"));
}

TEST(SitesTest, PatternsHaveRoomForEveryHeadAndKey) {
  const std::vector<CaptureSite> sites = find_sites({"hidden", "attn.hook_pattern"});
  auto activations = plan_activations(sites, LayerSelection::parse("1"), grouped_query_config());
  widen_patterns(activations, sites, 20);
  ASSERT_EQ(activations.size(), 2U);
  EXPECT_EQ(activations[0].dim, 48);
  EXPECT_EQ(activations[1].site, "attn.hook_pattern");
  EXPECT_EQ(activations[1].dim, 6 * 20);
  EXPECT_EQ(activations[1].hook, "blocks.1.attn.hook_pattern");
}

TEST(SitesTest, RefusesALayerThatTheModelLacks) {
  try {
    plan_activations(find_sites({"hidden"}), LayerSelection::parse("1,3"), grouped_query_config());
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("layer"));
    EXPECT_THAT(error.what(), HasSubstr("3"));
  }
}

}  // namespace
}  // namespace lime
