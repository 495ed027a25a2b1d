// SPDX-License-Identifier: Apache-2.0

// What runs on a GPU is LibTorch's operations without the kernels for CPUs. The same operations run
// here on the CPU, against the kernels.

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "model/kernels/linear.h"
#include "model/kernels/norm.h"
#include "model/kernels/workspace.h"
#include "model/model_fixture.h"

namespace lime {
namespace {

using testing::in_double;
using testing::lively_decoder;
using testing::NamedConfig;
using testing::some_ids;

double relative_difference(const at::Tensor& found, const at::Tensor& expected) {
  const double largest = expected.abs().max().item<double>();
  return (found - expected).abs().max().item<double>() / (largest > 0.0 ? largest : 1.0);
}

class GpuPathTest : public ::testing::TestWithParam<NamedConfig> {
 protected:
  Decoder decoder_ = lively_decoder(GetParam().config, in_double());
  at::Tensor ids_ = some_ids(2, 9);

  at::Tensor logits() const {
    Workspace workspace;
    return decoder_.forward(ids_, {.workspace = &workspace}).logits.clone();
  }

  std::map<std::string, at::Tensor> gradients() {
    decoder_.set_requires_grad(true);
    const ForwardOptions options{.logits = LogitsFor::kNone, .targets = some_ids(2, 9)};
    decoder_.forward(ids_, options).loss.backward();
    std::map<std::string, at::Tensor> found;
    for (const NamedTensor& parameter : decoder_.parameters()) {
      at::Tensor gradient = parameter.tensor.grad();
      found[parameter.name] = gradient.clone();
      gradient.zero_();
    }
    return found;
  }
};

TEST_P(GpuPathTest, LogitsAreTheKernels) {
  const at::NoGradGuard no_grad;
  const at::Tensor expected = logits();
  const WithoutCpuKernels here;
  EXPECT_LT(relative_difference(logits(), expected), 1e-12);
}

TEST_P(GpuPathTest, GradientsAreTheKernels) {
  const std::map<std::string, at::Tensor> expected = gradients();
  const WithoutCpuKernels here;
  for (const auto& [name, gradient] : gradients()) {
    if (expected.at(name).abs().max().item<double>() < 1e-12) continue;
    EXPECT_LT(relative_difference(gradient, expected.at(name)), 1e-9) << name;
  }
}

/// 16-bit types round before or after the weight; sums in another order may round a few entries
/// differently.
TEST(GpuNormTest, RoundsWhereTheCastSays) {
  const at::TensorOptions options = at::TensorOptions().dtype(at::kFloat);
  at::manual_seed(1);
  const at::Tensor x = (3.0 * at::randn({64, 256}, options)).to(at::kBFloat16);
  const at::Tensor weight = (1.0 + 0.3 * at::randn({256}, options)).to(at::kBFloat16);
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor normalized = wide * at::rsqrt(wide.square().mean(-1, true) + 1e-5);
  const auto fraction_of_others = [](const at::Tensor& found, const at::Tensor& expected) {
    return found.ne(expected).to(at::kFloat).mean().item<double>();
  };
  const at::Tensor before = weight * normalized.to(at::kBFloat16);
  const at::Tensor after = (weight.to(at::kFloat) * normalized).to(at::kBFloat16);
  ASSERT_GT(fraction_of_others(before, after), 0.1);
  const at::NoGradGuard no_grad;
  const WithoutCpuKernels here;
  EXPECT_LT(fraction_of_others(rms_norm(x, weight, 1e-5, RmsNormCast::kBeforeWeight), before),
            1e-3);
  EXPECT_LT(fraction_of_others(rms_norm(x, weight, 1e-5, RmsNormCast::kAfterWeight), after), 1e-3);
  EXPECT_EQ(rms_normalize(x, 1e-5, RmsNormCast::kAfterWeight).scalar_type(), at::kFloat);
}

INSTANTIATE_TEST_SUITE_P(Decoders, GpuPathTest, ::testing::ValuesIn(testing::small_configs()),
                         testing::config_name);

}  // namespace
}  // namespace lime
