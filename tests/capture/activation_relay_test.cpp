// SPDX-License-Identifier: Apache-2.0
#include "capture/activation_relay.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "model/decoders/stage_plan.h"

namespace lime {
namespace {

const std::vector<DecoderStage> kStages = {{c10::Device(c10::kCPU), {0, 2}, 0},
                                           {c10::Device(c10::kCPU), {2, 2}, 0}};
const std::vector<HookPoint> kPoints = {
    {HookKind::kResidPost, 3}, {HookKind::kV, 0}, {HookKind::kV, 2}, {HookKind::kResidPost, 1}};

ActivationRelay relay_of(std::size_t bytes) {
  return ActivationRelay(
      kStages, kPoints, [](std::size_t, const at::Tensor& activation) { return activation; },
      bytes);
}

/// Simulates the activations of a stage in a pass, with values that identify the pass, then
/// overwrites them.
void show(const ActivationRelay& relay, const std::vector<HookPoint>& points, int pass) {
  for (const HookPoint& point : points) {
    at::Tensor activation = at::full({1, 2, 3}, pass * 10 + point.layer, at::kDouble);
    relay.hooks().run(point.kind, point.layer, activation);
    activation.fill_(-1);
  }
}

TEST(ActivationRelayTest, GivesPassAfterPassWhateverStageIsAhead) {
  ActivationRelay relay = relay_of(1 << 20);
  for (const int pass : {0, 1}) show(relay, {kPoints[1], kPoints[3]}, pass);
  for (const int pass : {0, 1}) show(relay, {kPoints[2], kPoints[0]}, pass);
  for (const int pass : {0, 1}) {
    std::vector<std::pair<std::size_t, float>> seen;
    EXPECT_TRUE(relay.take_pass([&](std::size_t point, const at::Tensor& activation) {
      EXPECT_EQ(activation.scalar_type(), at::kFloat);
      seen.emplace_back(point, activation.max().item<float>());
    }));
    const auto value = [&](int layer) { return static_cast<float>(pass * 10 + layer); };
    EXPECT_EQ(seen, (std::vector<std::pair<std::size_t, float>>{
                        {1, value(0)}, {3, value(1)}, {2, value(2)}, {0, value(3)}}));
  }
}

TEST(ActivationRelayTest, ClosingWakesBothSides) {
  ActivationRelay relay = relay_of(1);  // room for one
  std::thread stage([&] {
    const auto run = [&] {
      for (int pass = 0;; ++pass) show(relay, {kPoints[1], kPoints[3]}, pass);
    };
    EXPECT_THROW(run(), Interrupted);
  });
  std::thread taker([&] {
    EXPECT_FALSE(relay.take_pass([&](std::size_t, const at::Tensor&) { relay.close(); }));
  });
  stage.join();
  taker.join();
  EXPECT_FALSE(relay.take_pass([](std::size_t, const at::Tensor&) {}));
}

}  // namespace
}  // namespace lime
