// SPDX-License-Identifier: Apache-2.0
#include "model/passes/hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/errors.h"
#include "model/model_fixture.h"

namespace lime {
namespace {

using testing::copied;
using ::testing::ThrowsMessage;

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

}  // namespace
}  // namespace lime
