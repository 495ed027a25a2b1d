// SPDX-License-Identifier: Apache-2.0
#include "train/adamw.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/adamw.h>
#include <torch/types.h>

#include <cmath>

#include "core/errors.h"
#include "model/kernels/linear.h"

namespace lime {
namespace {

using ::testing::ThrowsMessage;

at::Tensor values(std::initializer_list<std::int64_t> shape, double phase) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return (at::arange(count, at::kDouble) + phase).sin().view(shape);
}

TEST(AdamWTest, EqualsThatOfLibTorch) {
  const at::Tensor matrix = values({3, 4}, 0.0).requires_grad_();
  const at::Tensor norm = values({4}, 7.0).requires_grad_();
  const at::Tensor their_matrix = matrix.detach().clone().requires_grad_();
  const at::Tensor their_norm = norm.detach().clone().requires_grad_();
  AdamWOptions options;
  options.learning_rate = 0.01;
  AdamW ours({{"a.weight", matrix}, {.name = "norm.weight", .tensor = norm, .is_decayed = false}},
             options);

  const auto torch_options = torch::optim::AdamWOptions(0.01).betas({0.9, 0.95});
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<at::Tensor>{their_matrix},
                      std::make_unique<torch::optim::AdamWOptions>(
                          torch::optim::AdamWOptions(torch_options).weight_decay(0.1)));
  groups.emplace_back(std::vector<at::Tensor>{their_norm},
                      std::make_unique<torch::optim::AdamWOptions>(
                          torch::optim::AdamWOptions(torch_options).weight_decay(0.0)));
  torch::optim::AdamW theirs(groups);

  for (int step = 0; step < 20; ++step) {
    for (const at::Tensor& weight : {matrix, their_matrix}) {
      weight.mutable_grad() = values({3, 4}, 1.3 * step);
    }
    for (const at::Tensor& weight : {norm, their_norm}) {
      weight.mutable_grad() = values({4}, 0.4 * step);
    }
    ours.step(1.0);
    theirs.step();
  }
  // Both compute in double; the order of the operations differs.
  EXPECT_LT((matrix - their_matrix).abs().max().item<double>(), 1e-13);
  EXPECT_LT((norm - their_norm).abs().max().item<double>(), 1e-13);
}

TEST(AdamWTest, RoutersHaveTheirOwnRateAndNoDecay) {
  const at::Tensor router = at::ones({2, 4}, at::kDouble).requires_grad_();
  const at::Tensor matrix = at::ones({2, 4}, at::kDouble).requires_grad_();
  AdamWOptions options;
  options.learning_rate = 0.1;
  options.router_learning_rate = 0.2;
  AdamW optimizer({{.name = "router", .tensor = router, .is_router = true, .is_decayed = false},
                   {.name = "up_proj", .tensor = matrix}},
                  options);
  router.mutable_grad() = at::ones({2, 4}, at::kDouble);
  matrix.mutable_grad() = at::ones({2, 4}, at::kDouble);
  optimizer.step(0.5);
  // The first step of Adam has the size of the learning rate, for any gradient.
  EXPECT_NEAR(router[0][0].item<double>(), 1.0 - 0.5 * 0.2, 1e-8);
  EXPECT_NEAR(matrix[0][0].item<double>(), 1.0 - 0.05 * 0.1 - 0.5 * 0.1, 1e-8);
}

TEST(AdamWTest, MeasuresAllGradientsTogether) {
  const at::Tensor a = at::zeros({2}).requires_grad_();
  const at::Tensor b = at::zeros({1, 1}).requires_grad_();
  AdamW optimizer({{"a", a}, {"b", b}}, {});
  EXPECT_EQ(optimizer.gradient_norm(), 0.0);
  a.mutable_grad() = at::tensor({2.0F, 4.0F});
  b.mutable_grad() = at::full({1, 1}, 4.0F);
  EXPECT_NEAR(optimizer.gradient_norm(), 6.0, 1e-6);
  optimizer.zero_gradients();
  EXPECT_EQ(optimizer.gradient_norm(), 0.0);
}

/// The CPU kernel on contiguous memory and LibTorch's passes over a view: the same step.
TEST(AdamWTest, TakesTheSameStepByKernelAndByLibrary) {
  const auto stepped = [](bool contiguous) {
    const at::Tensor base = at::linspace(-1.0, 1.0, 9000, at::kDouble).view({90, 100});
    const at::Tensor weights = (contiguous ? base : base.t().contiguous().t()).requires_grad_();
    AdamW optimizer({{"w", weights}}, {});
    for (int i = 1; i <= 3; ++i) {
      weights.mutable_grad() = (weights.detach() * i).sin();
      optimizer.step(1.0, 0.3);
    }
    return weights.detach().clone();
  };
  EXPECT_LT((stepped(true) - stepped(false)).abs().max().item<double>(), 1e-14);
}

/// On a GPU one call of LibTorch updates all parameters, and one gives the norm.
TEST(AdamWTest, TakesTheSameStepOnTheGpuPath) {
  const at::Tensor kernel[] = {values({3, 4}, 0.0), values({4}, 7.0)};
  const at::Tensor library[] = {kernel[0].clone(), kernel[1].clone()};
  const auto run = [](const at::Tensor* weights) {
    AdamW optimizer({{"a.weight", weights[0]},
                     {.name = "norm.weight", .tensor = weights[1], .is_decayed = false}},
                    {});
    double norms = 0.0;
    for (int step = 0; step < 5; ++step) {
      weights[0].mutable_grad() = values({3, 4}, 1.3 * step);
      weights[1].mutable_grad() = values({4}, 0.4 * step);
      norms += optimizer.gradient_norm();
      optimizer.step(0.5, 0.25);
    }
    return norms;
  };
  const double expected = run(kernel);
  const WithoutCpuKernels here;
  EXPECT_NEAR(run(library), expected, 1e-12 * expected);
  for (int i : {0, 1}) {
    EXPECT_LT((library[i] - kernel[i]).abs().max().item<double>(), 1e-9);  // a float scale
  }
}

TEST(AdamWOptionsTest, NamesTheFieldOutOfRange) {
  const auto refuses = [](const auto& change, const char* message) {
    AdamWOptions options;
    change(options);
    EXPECT_THAT([&] { options.validate(); }, ThrowsMessage<InvalidArgument>(message));
  };
  refuses([](auto& o) { o.learning_rate = 0.0; }, "learning_rate: must be > 0, got 0");
  refuses([](auto& o) { o.router_learning_rate = -1.0; },
          "router_learning_rate: must be > 0, got -1");
  refuses([](auto& o) { o.beta2 = 1.0; }, "beta2: must be >= 0 and < 1, got 1");
  refuses([](auto& o) { o.weight_decay = NAN; }, "weight_decay: must be >= 0, got nan");
}

}  // namespace
}  // namespace lime
