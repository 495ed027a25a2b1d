// SPDX-License-Identifier: Apache-2.0
#include "model/passes/hook_points.h"

#include <gtest/gtest.h>

#include <set>

#include "model/model_fixture.h"

namespace lime {
namespace {

TEST(HookPointsTest, NamesAreTransformerLenss) {
  EXPECT_EQ(hook_name({HookKind::kEmbed, 0}), "hook_embed");
  EXPECT_EQ(hook_name({HookKind::kResidPost, 15}), "blocks.15.hook_resid_post");
  EXPECT_EQ(hook_name({HookKind::kV, 3}), "blocks.3.attn.hook_v");
  EXPECT_EQ(hook_name({HookKind::kRoutedV, 3}), "blocks.3.attn.hook_routed_v");
  EXPECT_EQ(hook_name({HookKind::kMlpPreLinear, 0}), "blocks.0.mlp.hook_pre_linear");
  EXPECT_EQ(hook_name({HookKind::kFinalNormalized, 0}), "ln_final.hook_normalized");
}

TEST(HookPointsTest, ListsEveryPointOnceInTheOrderOfAPass) {
  const std::vector<HookPoint> points = testing::all_hook_points(2);
  std::set<std::string> names;
  for (const HookPoint& point : points) names.insert(hook_name(point));
  EXPECT_EQ(names.size(), points.size());
  // Of kinds that occur once per model, it omits the weights over depth of the final norm.
  EXPECT_EQ(points.size(), 2U + 2U * (kNumHookKinds - 3));
  EXPECT_EQ(hook_name(points.front()), "hook_embed");
  EXPECT_EQ(hook_name(points[1]), "blocks.0.hook_resid_pre");
  EXPECT_EQ(hook_name(points.back()), "ln_final.hook_normalized");
}

}  // namespace
}  // namespace lime
