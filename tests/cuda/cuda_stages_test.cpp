// SPDX-License-Identifier: Apache-2.0
// Layers split over several GPUs, and copies concurrent with the computation.
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>
#include <torch/cuda.h>

#include <string>
#include <vector>

#include "capture/activation_relay.h"
#include "capture/capture.h"
#include "cuda/cuda_fixture.h"
#include "model/model_fixture.h"
#include "model/passes/generate.h"
#include "model/passes/pipeline.h"
#include "model/passes/side_stream.h"
#include "store/capture_reader.h"
#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

using testing::activations;
using testing::copy_of;
using testing::lively_decoder;
using testing::NamedConfig;
using testing::on_gpu;
using testing::some_ids;

/// Skips a test with fewer than two GPUs.
#define LIME_SKIP_WITHOUT_TWO_GPUS()                                                 \
  if (torch::cuda::device_count() < 2) {                                             \
    GTEST_SKIP() << "needs two GPUs, LibTorch sees " << torch::cuda::device_count(); \
  }                                                                                  \
  static_assert(true)

c10::Device gpu(int index) { return {c10::kCUDA, static_cast<c10::DeviceIndex>(index)}; }

/// Compares passes of `shared` with those of one GPU: the same kernels on the same numbers.
void expect_those_of_one_gpu(const Decoder& whole, const Decoder& shared) {
  const at::NoGradGuard no_grad;
  const at::Tensor ids = some_ids(3, 12);
  const auto expected = activations(whole, ids, {"*"});
  const auto found = activations(shared, ids, {"*"});
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, activation] : expected) {
    EXPECT_TRUE(at::equal(found.at(name).cpu(), activation.cpu())) << name;
  }
  int left = 20;
  Pipeline pipeline(shared, {}, [&] { return left-- > 0 ? ids : at::Tensor(); });
  const at::Tensor logits = whole.forward(ids).logits.cpu();
  while (const std::optional<ForwardResult> result = pipeline.pop()) {
    EXPECT_TRUE(at::equal(result->logits.cpu(), logits));
  }
}

class CudaStagesTest : public ::testing::TestWithParam<NamedConfig> {
 protected:
  Decoder cpu_ = lively_decoder(GetParam().config);
};

TEST_P(CudaStagesTest, TwoStagesOnOneGpuComputeTheSame) {
  LIME_SKIP_WITHOUT_GPU();
  expect_those_of_one_gpu(copy_of(cpu_, on_gpu()), copy_of(cpu_, {.devices = {gpu(0), gpu(0)}}));
}

TEST_P(CudaStagesTest, TwoGpusComputeTheSame) {
  LIME_SKIP_WITHOUT_TWO_GPUS();
  const Decoder shared = copy_of(cpu_, {.devices = {gpu(0), gpu(1)}});
  expect_those_of_one_gpu(copy_of(cpu_, on_gpu()), shared);
  const auto seen = activations(shared, some_ids(1, 4), {"blocks.*.attn.hook_v"});
  EXPECT_EQ(seen.at("blocks.0.attn.hook_v").device(), gpu(0));
  EXPECT_EQ(seen.at("blocks.2.attn.hook_v").device(), gpu(1));
}

TEST_P(CudaStagesTest, TwoGpusWriteTheSameTokensWithACache) {
  LIME_SKIP_WITHOUT_TWO_GPUS();
  const std::vector<std::int64_t> prompt = {3, 1, 4, 1, 5};
  const GenerateOptions options{.max_new_tokens = 12};
  EXPECT_EQ(generate(copy_of(cpu_, {.devices = {gpu(0), gpu(1)}}), prompt, options),
            generate(copy_of(cpu_, on_gpu()), prompt, options));
}

INSTANTIATE_TEST_SUITE_P(Decoders, CudaStagesTest, ::testing::ValuesIn(testing::small_configs()),
                         testing::config_name);

TEST(CudaHostCopyTest, IsThePlainCopy) {
  LIME_SKIP_WITHOUT_GPU();
  const SideStream side(gpu(0));
  for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    const at::Tensor all = at::randn({4, 64, 3, 32}, at::TensorOptions(gpu(0)).dtype(dtype));
    for (const at::Tensor& activation : {all, all.select(2, 1), all.transpose(1, 2)}) {
      const HostCopy copy(activation, side);
      EXPECT_TRUE(copy.get().is_pinned());
      EXPECT_TRUE(at::equal(copy.get(), activation.to(at::kCPU, at::kFloat)));
    }
  }
}

TEST(CudaHostCopyTest, ComesFromBeforeWhatIsComputedNext) {
  LIME_SKIP_WITHOUT_GPU();
  const SideStream side(gpu(0));
  std::vector<HostCopy> copies;
  for (int i = 0; i < 50; ++i) {
    // Its memory is freed immediately: without keep() the next one would overwrite it.
    const at::Tensor activation = at::full({1 << 20}, i, at::TensorOptions(gpu(0)));
    copies.emplace_back(activation, side);
  }
  for (int i = 0; i < 50; ++i) {
    const at::Tensor& copy = copies[static_cast<std::size_t>(i)].get();
    EXPECT_TRUE(copy.eq(i).all().item<bool>()) << i;
  }
}

TEST(CudaStagedCaptureTest, TwoGpusCaptureWhatOneDoes) {
  LIME_SKIP_WITHOUT_TWO_GPUS();
  for (const std::string kind : {"llama", "lime"}) {
    const testing::TemporaryFolder folder;
    testing::write_tiny_checkpoint(folder / "model", testing::tiny_config(kind));
    testing::write_text(folder / "text.txt", testing::tiny_text(300));
    const auto capture = [&](const std::string& device) {
      CaptureOptions options;
      options.checkpoint = folder / "model";
      options.text = {folder / "text.txt"};
      options.seq_len = 32;
      options.device = device;
      options.output = folder / (device + ".h5");
      run_capture(options);
      return CaptureReader(options.output);
    };
    const CaptureReader expected = capture("cuda:0");
    const CaptureReader found = capture("cuda:0,cuda:1");
    for (const std::string& site : expected.sites()) {
      for (const int layer : expected.layers(site)) {
        EXPECT_EQ(found.read_all(site, layer), expected.read_all(site, layer)) << site << layer;
      }
    }
  }
}

}  // namespace
}  // namespace lime
