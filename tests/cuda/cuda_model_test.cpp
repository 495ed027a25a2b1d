// SPDX-License-Identifier: Apache-2.0
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/errors.h"
#include "cuda/cuda_fixture.h"
#include "model/model_fixture.h"
#include "model/passes/generate.h"
#include "model/passes/hooks.h"

namespace lime {
namespace {

using testing::activations;
using testing::copy_of;
using testing::lively_decoder;
using testing::NamedConfig;
using testing::on_gpu;
using testing::relative_difference;
using testing::small_config;
using testing::some_ids;
using testing::tolerance_of;

class CudaDecoderTest : public ::testing::TestWithParam<NamedConfig> {
 protected:
  Decoder cpu_ = lively_decoder(GetParam().config);
};

TEST_P(CudaDecoderTest, LogitsAreTheCpusInEveryType) {
  LIME_SKIP_WITHOUT_GPU();
  const at::Tensor ids = some_ids(3, 12);
  for (const ComputeType dtype : {ComputeType::kFloat64, ComputeType::kFloat32,
                                  ComputeType::kFloat16, ComputeType::kBfloat16}) {
    const ComputeType reference =
        dtype == ComputeType::kFloat64 ? ComputeType::kFloat64 : ComputeType::kFloat32;
    const at::Tensor expected = copy_of(cpu_, {.dtype = reference}).forward(ids).logits;
    const at::Tensor found = copy_of(cpu_, on_gpu(dtype)).forward(ids).logits;
    EXPECT_TRUE(found.is_cuda());
    // Some decoders with these large weights amplify rounding: the CPU's, too, in that type.
    const at::Tensor rounded = copy_of(cpu_, {.dtype = dtype}).forward(ids).logits;
    const double tolerance =
        std::max(tolerance_of(dtype), 2.0 * relative_difference(rounded, expected));
    EXPECT_LT(relative_difference(found, expected), tolerance) << enum_name(dtype);
  }
}

TEST_P(CudaDecoderTest, EveryActivationIsTheCpus) {
  LIME_SKIP_WITHOUT_GPU();
  const at::Tensor ids = some_ids(2, 9);
  const auto expected = activations(copy_of(cpu_, testing::in_double()), ids, {"*"});
  const auto found = activations(copy_of(cpu_, on_gpu(ComputeType::kFloat64)), ids, {"*"});
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, activation] : expected) {
    if (name.ends_with("attn_scores")) continue;  // -inf where masked
    EXPECT_LT(relative_difference(found.at(name), activation), 1e-12) << name;
  }
}

TEST_P(CudaDecoderTest, GradientsAreTheCpus) {
  LIME_SKIP_WITHOUT_GPU();
  const at::Tensor ids = some_ids(2, 9);
  const auto backward = [&](Decoder& decoder) {
    decoder.set_requires_grad(true);
    decoder.forward(ids, {.logits = LogitsFor::kNone, .targets = some_ids(2, 9)}).loss.backward();
  };
  Decoder cpu = copy_of(cpu_, testing::in_double());
  Decoder gpu = copy_of(cpu_, on_gpu(ComputeType::kFloat64));
  backward(cpu);
  backward(gpu);
  for (const NamedTensor& parameter : cpu.parameters()) {
    const at::Tensor found = gpu.parameter(parameter.name).grad();
    if (parameter.tensor.grad().abs().max().item<double>() < 1e-12) continue;
    EXPECT_LT(relative_difference(found, parameter.tensor.grad()), 1e-9) << parameter.name;
  }
}

TEST_P(CudaDecoderTest, WritesTheSameTokensWithACache) {
  LIME_SKIP_WITHOUT_GPU();
  const std::vector<std::int64_t> prompt = {3, 1, 4, 1, 5};
  const GenerateOptions options{.max_new_tokens = 12};
  const Decoder gpu = copy_of(cpu_, on_gpu(ComputeType::kFloat64));
  EXPECT_EQ(generate(gpu, prompt, options),
            generate(copy_of(cpu_, testing::in_double()), prompt, options));
}

INSTANTIATE_TEST_SUITE_P(Decoders, CudaDecoderTest, ::testing::ValuesIn(testing::small_configs()),
                         testing::config_name);

TEST(CudaHooksTest, AReplacementFromTheCpuIsRefused) {
  LIME_SKIP_WITHOUT_GPU();
  const Decoder gpu = copy_of(lively_decoder(small_config()), on_gpu());
  HookSet hooks;
  const ScopedHook editor = hooks.edit(
      {HookKind::kV, 1}, [](const HookPoint&, const at::Tensor& v) { return v.to(at::kCPU); });
  EXPECT_THAT([&] { gpu.forward(some_ids(1, 4), {.hooks = &hooks}); },
              ::testing::ThrowsMessage<InvalidArgument>(::testing::HasSubstr("cpu")));
}

}  // namespace
}  // namespace lime
