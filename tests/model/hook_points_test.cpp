// SPDX-License-Identifier: Apache-2.0
#include "model/hook_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/errors.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

TEST(HookPointsTest, NamesAreTransformerLenss) {
  EXPECT_EQ(hook_name({HookKind::kEmbed, 0}), "hook_embed");
  EXPECT_EQ(hook_name({HookKind::kResidPost, 15}), "blocks.15.hook_resid_post");
  EXPECT_EQ(hook_name({HookKind::kV, 3}), "blocks.3.attn.hook_v");
  EXPECT_EQ(hook_name({HookKind::kRoutedV, 3}), "blocks.3.attn.hook_routed_v");
  EXPECT_EQ(hook_name({HookKind::kMlpPreLinear, 0}), "blocks.0.mlp.hook_pre_linear");
  EXPECT_EQ(hook_name({HookKind::kFinalNormalized, 0}), "ln_final.hook_normalized");
}

TEST(HookPointsTest, ListsEveryPointOnceInTheOrderOfAPass) {
  const std::vector<HookPoint> points = all_hook_points(2);
  std::set<std::string> names;
  for (const HookPoint& point : points) names.insert(hook_name(point));
  EXPECT_EQ(names.size(), points.size());
  EXPECT_EQ(points.size(), 2U + 2U * (kNumHookKinds - 2));
  EXPECT_EQ(hook_name(points.front()), "hook_embed");
  EXPECT_EQ(hook_name(points[1]), "blocks.0.hook_resid_pre");
  EXPECT_EQ(hook_name(points.back()), "ln_final.hook_normalized");
}

TEST(HookPointsTest, EveryNameMatchesItself) {
  for (const HookPoint& point : all_hook_points(12)) {
    EXPECT_THAT(match_hook_points(hook_name(point), 12), ElementsAre(point));
  }
}

TEST(HookPointsTest, StarStandsForAnyText) {
  EXPECT_THAT(match_hook_points("blocks.*.attn.hook_v", 2),
              ElementsAre(HookPoint{HookKind::kV, 0}, HookPoint{HookKind::kV, 1}));
  EXPECT_EQ(match_hook_points("blocks.1.*", 3).size(), static_cast<std::size_t>(kNumHookKinds - 2));
  EXPECT_EQ(match_hook_points("*", 3), all_hook_points(3));
}

TEST(HookPointsTest, ShortWordsStandForAllLayers) {
  EXPECT_EQ(match_hook_points("values", 4), match_hook_points("blocks.*.attn.hook_v", 4));
  EXPECT_EQ(match_hook_points("routed_values", 4),
            match_hook_points("blocks.*.attn.hook_routed_v", 4));
  EXPECT_EQ(match_hook_points("hidden", 4), match_hook_points("blocks.*.hook_resid_post", 4));
}

TEST(HookPointsTest, AnUnknownPointIsAnErrorThatNamesTheLayers) {
  EXPECT_THAT([] { match_hook_points("blocks.16.hook_resid_post", 16); },
              ThrowsMessage<InvalidArgument>(
                  "hooks: no point matches 'blocks.16.hook_resid_post', the model has layers 0 to "
                  "15"));
  EXPECT_THROW(match_hook_points("", 16), InvalidArgument);
  EXPECT_THROW(match_hook_points("value", 16), InvalidArgument);
}

TEST(HookPointsTest, ThePassMayStopAfterTheLastLayerThatIsNeeded) {
  EXPECT_EQ(last_layer_needed(match_hook_points("hook_embed", 8)), 0);
  EXPECT_EQ(last_layer_needed(match_hook_points("blocks.5.attn.hook_v", 8)), 5);
  EXPECT_EQ(last_layer_needed(match_hook_points("values", 8)), 7);
  EXPECT_EQ(last_layer_needed(match_hook_points("ln_final.hook_normalized", 8)), std::nullopt);
  EXPECT_EQ(last_layer_needed({}), std::nullopt);
}

}  // namespace
}  // namespace lime
