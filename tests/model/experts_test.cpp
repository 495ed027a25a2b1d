// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/experts.h"

#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "core/errors.h"
#include "model/decoders/decoder.h"
#include "model/model_fixture.h"
#include "model/passes/output_head.h"

namespace lime {
namespace {

using testing::in_double;
using testing::lively_decoder;
using testing::max_difference;
using testing::some_ids;

constexpr ExpertsSpec kSpec = {.num_experts = 4, .num_experts_per_tok = 2, .intermediate_size = 3};

TEST(ChooseExpertsTest, PrefersTheLowerNumberOfEqualLogits) {
  const at::NoGradGuard no_grad;
  const ExpertChoice choice = choose_experts(torch::tensor({{1.0, 3.0, 3.0, 0.0}}), kSpec);
  EXPECT_TRUE(torch::equal(choice.indices, torch::tensor({{1L, 2L}})));
  EXPECT_EQ(max_difference(choice.weights, torch::tensor({{0.5, 0.5}})), 0.0);
}

TEST(LoadBalancingLossTest, IsTheNumberOfExpertsPerTokenIfTheRouterIsUniform) {
  const at::Tensor logits = torch::zeros({6, 4}, torch::kDouble);
  const at::Tensor indices = torch::tensor({0L, 1L, 1L, 2L, 0L, 3L, 0L, 1L, 2L, 3L, 1L, 3L});
  EXPECT_NEAR(load_balancing_loss({logits}, {indices.view({6, 2})}).item<double>(), 2.0, 1e-15);
}

/// The formula of transformers, with the gradients of autograd.
TEST(LoadBalancingLossTest, HasTheGradientsOfItsFormula) {
  torch::manual_seed(3);
  std::vector<at::Tensor> logits;
  std::vector<at::Tensor> indices;
  for (int layer = 0; layer < 2; ++layer) {
    logits.push_back(torch::randn({70, 4}, torch::kDouble).requires_grad_());
    indices.push_back(std::get<1>(logits.back().topk(2, -1)));
  }
  const at::Tensor p = torch::softmax(torch::cat(logits), -1).mean(0);
  const at::Tensor f = torch::one_hot(torch::cat(indices), 4).to(torch::kDouble).sum(1).mean(0);
  const at::Tensor expected = 4.0 * (p * f).sum();
  expected.backward();
  const at::Tensor first = logits[0].grad().clone();
  const at::Tensor second = logits[1].grad().clone();
  for (const at::Tensor& one : logits) one.mutable_grad().reset();
  const at::Tensor loss = load_balancing_loss(logits, indices);
  loss.backward();
  EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-14);
  EXPECT_LT(max_difference(logits[0].grad(), first), 1e-16);
  EXPECT_LT(max_difference(logits[1].grad(), second), 1e-16);
}

TEST(LoadBalancingLossTest, IsAddedToTheLossOfTrainingIfTheConfigAsksForIt) {
  const at::Tensor ids = some_ids(2, 7);
  const auto loss_of = [&](double coef) {
    ModelConfig config = testing::small_config("olmoe");
    config.spec.experts->aux_loss_coef = coef;
    Decoder decoder = lively_decoder(config, in_double());
    const auto loss = [&] {
      const ForwardOptions options{
          .logits = LogitsFor::kNone, .targets = ids, .recompute_blocks = true};
      return decoder.forward(ids, options).loss;
    };
    const double without_gradients = loss().item<double>();
    decoder.set_requires_grad(true);
    return std::pair(loss().item<double>(), without_gradients);
  };
  const auto [plain, plain_value] = loss_of(0.0);
  const auto [balanced, balanced_value] = loss_of(0.5);
  EXPECT_NEAR(plain, plain_value, 1e-12);
  EXPECT_EQ(balanced_value, plain_value);
  // 14 targets times 0.5; from 0 to the number of experts, at least 1 as top-2 are above the mean.
  EXPECT_GT(balanced - plain, 7.0);
  EXPECT_LT(balanced - plain, 28.0);
}

/// The experts of the tokens of one sequence do not change the bits of another.
TEST(ExpertsTest, ATokenDoesNotDependOnTheExpertsOfOthers) {
  for (const char* const family : {"mixtral", "gpt_oss"}) {
    ModelConfig config = testing::small_config(family);
    config.spec.experts->intermediate_size = 7;  // rows that are not aligned
    const Decoder decoder = lively_decoder(config);
    const at::Tensor ids = some_ids(3, 20);
    const at::Tensor changed = ids.clone();
    changed[1].fill_(5);
    changed[2].fill_(8);
    EXPECT_TRUE(torch::equal(decoder.forward(ids).logits[0], decoder.forward(changed).logits[0]))
        << family;
  }
}

}  // namespace
}  // namespace lime
