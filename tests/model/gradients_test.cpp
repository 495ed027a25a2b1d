// SPDX-License-Identifier: Apache-2.0
// Compares the hand-written backward passes with differences of losses, which the forward pass
// without gradients computes with other code.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/errors.h"
#include "model/decoders/decoder.h"
#include "model/decoders/lime_router.h"
#include "model/model_fixture.h"
#include "model/passes/output_head.h"

namespace lime {
namespace {

using testing::in_double;
using testing::lively_decoder;
using testing::max_difference;
using testing::NamedConfig;
using testing::small_config;
using testing::some_ids;

/// Returns the next tokens of `ids`, some of them ignored.
at::Tensor some_targets(const at::Tensor& ids) {
  const at::Tensor targets = ids.roll(-1, 1);
  targets.select(1, ids.size(1) - 1).fill_(kIgnoredTarget);
  targets[0][2].fill_(kIgnoredTarget);
  return targets;
}

double loss_of(const Decoder& decoder, const at::Tensor& ids) {
  const at::NoGradGuard no_grad;
  const ForwardOptions options{.logits = LogitsFor::kNone, .targets = some_targets(ids)};
  return decoder.forward(ids, options).loss.item<double>();
}

void backward(const Decoder& decoder, const at::Tensor& ids) {
  const ForwardOptions options{.logits = LogitsFor::kNone, .targets = some_targets(ids)};
  decoder.forward(ids, options).loss.backward();
}

class GradientsTest : public ::testing::TestWithParam<NamedConfig> {};

TEST_P(GradientsTest, AreTheSlopesOfTheLoss) {
  // So small for ReLU that no unit passes its kink within a step.
  const double step = GetParam().config.spec.activation == Activation::kRelu ? 1e-7 : 1e-5;
  Decoder decoder = lively_decoder(GetParam().config, in_double());
  const at::Tensor ids = some_ids(2, 7);
  decoder.set_requires_grad(true);
  backward(decoder, ids);
  for (const auto& [name, parameter] : decoder.parameters()) {
    ASSERT_TRUE(parameter.grad().defined()) << name;
    const at::NoGradGuard no_grad;
    const at::Tensor direction =
        torch::sin(torch::arange(parameter.numel(), torch::kDouble) * 1.7).view(parameter.sizes());
    at::Tensor weights = parameter.detach();
    const auto loss_at = [&](double offset) {
      weights.add_(direction, offset);
      const double loss = loss_of(decoder, ids);
      weights.add_(direction, -offset);
      return loss;
    };
    const double near = loss_at(step) - loss_at(-step);
    const double far = loss_at(2.0 * step) - loss_at(-2.0 * step);
    const double slope = (8.0 * near - far) / (12.0 * step);
    const double expected = (parameter.grad() * direction).sum().item<double>();
    // The error of these differences is of the order of step^4 and of 1e-15 / step.
    EXPECT_NEAR(slope, expected, 1e-6 * (1.0 + std::abs(expected))) << name;
  }
}

TEST_P(GradientsTest, AreTheSameWhereBlocksAreComputedAgain) {
  const auto gradients = [&](bool recompute) {
    Decoder decoder = lively_decoder(GetParam().config, in_double());
    decoder.set_requires_grad(true);
    const at::Tensor ids = some_ids(2, 7);
    const ForwardOptions options{
        .logits = LogitsFor::kNone, .targets = some_targets(ids), .recompute_blocks = recompute};
    decoder.forward(ids, options).loss.backward();
    std::vector<at::Tensor> all;
    for (const NamedTensor& parameter : decoder.parameters())
      all.push_back(parameter.tensor.grad());
    return all;
  };
  const std::vector<at::Tensor> kept = gradients(false);
  const std::vector<at::Tensor> again = gradients(true);
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_LT(max_difference(kept[i], again[i]), 1e-12);
}

/// Returns the config with activations so large that LibTorch divides its loops among threads.
ModelConfig widened(ModelConfig config) {
  config.hidden_size *= 4;
  config.intermediate_size *= 4;
  config.head_dim *= 4;
  config.max_position_embeddings = 300;
  return config;
}

TEST_P(GradientsTest, HaveTheSameBitsForAnyNumberOfThreads) {
  const ModelConfig config = widened(GetParam().config);
  const auto gradients = [&](int threads) {
    at::set_num_threads(threads);
    Decoder decoder = lively_decoder(config);
    decoder.set_requires_grad(true);
    backward(decoder, some_ids(2, 257));
    std::vector<at::Tensor> all;
    for (const NamedTensor& parameter : decoder.parameters())
      all.push_back(parameter.tensor.grad());
    return all;
  };
  const int usual = at::get_num_threads();
  const std::vector<at::Tensor> one = gradients(1);
  const std::vector<at::Tensor> two = gradients(2);
  const std::vector<at::Tensor> three = gradients(3);
  at::set_num_threads(usual);
  const Decoder decoder(config, 7);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(torch::equal(one[i], two[i])) << decoder.parameters()[i].name;
    EXPECT_TRUE(torch::equal(one[i], three[i])) << decoder.parameters()[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, GradientsTest, ::testing::ValuesIn(testing::small_configs()),
                         testing::config_name);

TEST(CrossEntropyTest, IsThatOfTheLogits) {
  const at::Tensor x = torch::randn({9, 5}, torch::kDouble).requires_grad_();
  const at::Tensor weight = torch::randn({13, 5}, torch::kDouble).requires_grad_();
  const at::Tensor targets = torch::tensor({3L, -100L, 0L, 12L, -100L, 5L, 5L, 1L, -100L});
  const auto expected = torch::cross_entropy_loss(torch::linear(x, weight), targets, {},
                                                  at::Reduction::Sum, kIgnoredTarget);
  expected.backward();
  const at::Tensor dx = x.grad().clone();
  const at::Tensor dw = weight.grad().clone();
  x.mutable_grad().reset();
  weight.mutable_grad().reset();
  const at::Tensor loss = summed_cross_entropy(x, weight, targets);
  loss.backward();
  EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-12);
  EXPECT_LT(max_difference(x.grad(), dx), 1e-13);
  EXPECT_LT(max_difference(weight.grad(), dw), 1e-13);
  EXPECT_THROW(summed_cross_entropy(x, weight, targets + 1), InvalidArgument);
}

/// The buffer contains the router's sources once; nothing is copied.
TEST(RouterTapeTest, HoldsEveryKeyAndValueOnce) {
  const ModelConfig config = small_config("lime");
  const DecoderWeights weights(config, at::TensorOptions(at::kFloat));
  const auto tape = std::make_shared<RouterTape>(config, weights);
  const at::Tensor own = torch::ones({2, 7, 2, 6}).requires_grad_();
  for (int layer = 0; layer < 3; ++layer) tape->mix(layer, {own, own}, {});
  EXPECT_EQ(tape->num_elements(), 3 * 2 * (2 * 7) * 2 * 6);
}

}  // namespace
}  // namespace lime
