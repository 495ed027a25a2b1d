// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <torch/types.h>

#include <algorithm>

#include "checkpoint/tokenizer.h"
#include "core/options.h"
#include "model/decoders/decoder.h"
#include "model/model_fixture.h"
#include "model/passes/generate.h"
#include "model/passes/output_head.h"
#include "store/hdf5/hdf5_file.h"
#include "support/sanitizers.h"
#include "support/test_data.h"

namespace lime {
namespace {

using testing::activations;
using testing::golden_file;
using testing::golden_tensor;
using testing::relative_error;
using testing::skip_reason;
using testing::test_data;

/// A checkpoint folder with its golden.h5, run in one compute type.
struct GoldenCase {
  std::string name;
  ComputeType dtype;
  bool is_shared;  ///< in the test data folder, not in the repository

  std::filesystem::path folder() const {
    return is_shared ? test_data("checkpoints/" + name) : golden_file("model/" + name);
  }
  /// float64: the other program sums in another order. float32: rounding, which grows with the
  /// activations and differs between the matrix products of CPUs.
  double tolerance() const { return dtype == ComputeType::kFloat64 ? 1e-9 : 2e-5; }
};

std::vector<GoldenCase> golden_cases() {
  std::vector<GoldenCase> cases;
  for (const ComputeType dtype : {ComputeType::kFloat32, ComputeType::kFloat64}) {
    for (const char* name : {"stories260k", "lime-random-gqa", "lime-random-full"}) {
      cases.push_back({name, dtype, true});
    }
    for (const char* name : {"llama-plain",
                             "llama-llama3-rope",
                             "llama-linear-rope",
                             "mistral-window",
                             "mistral-layer-types",
                             "qwen2-plain",
                             "qwen2-window",
                             "lime-average",
                             "lime-last",
                             "lime-first",
                             "lime-first-and-previous",
                             "lime-dilated",
                             "lime-no-head-mixing",
                             "lime-per-dimension",
                             "lime-dynamic",
                             "denseformer",
                             "denseformer-dilated",
                             "denseformer-periodic",
                             "resformer",
                             "svformer",
                             "hyper_connections-static",
                             "hyper_connections-dynamic",
                             "attn_res-open-full",
                             "attn_res-open-block",
                             "attn_res-open-nested",
                             "attn_res-full",
                             "attn_res-block",
                             "mhc",
                             "depth_attention-stride",
                             "depth_attention-window",
                             "mudd",
                             "mudd-former",
                             "mudd-pythia"}) {
      cases.push_back({name, dtype, false});
    }
  }
  return cases;
}

class GoldenTest : public ::testing::TestWithParam<GoldenCase> {
 protected:
  void SetUp() override {
    if (!exists(GetParam().folder())) GTEST_SKIP() << skip_reason(GetParam().folder());
  }

  Decoder decoder() const {
    return load_decoder(Checkpoint::open(GetParam().folder()), {.dtype = GetParam().dtype});
  }
  /// Datasets of one sequence lack the batch dimension.
  at::Tensor golden(const std::string& dataset, std::int64_t rank) const {
    const at::Tensor tensor = golden_tensor(GetParam().folder() / "golden.h5", dataset);
    return tensor.dim() == rank ? tensor : tensor.unsqueeze(rank == 4 ? 1 : 0);
  }
};

TEST_P(GoldenTest, LogitsAndHiddenStatesEqualTheReference) {
  const Decoder model = decoder();
  const at::Tensor ids = golden("ids", 2);
  const at::Tensor hidden = golden("hidden", 4);
  EXPECT_LT(relative_error(model.forward(ids).logits, golden("logits", 3)), GetParam().tolerance());
  const auto found = activations(model, ids, {"hook_embed", "blocks.*.hook_resid_post"});
  EXPECT_LT(relative_error(found.at("hook_embed"), hidden[0]), GetParam().tolerance());
  for (std::int64_t layer = 0; layer + 1 < hidden.size(0); ++layer) {
    const std::string name = hook_name({HookKind::kResidPost, static_cast<int>(layer)});
    EXPECT_LT(relative_error(found.at(name), hidden[layer + 1]), GetParam().tolerance()) << name;
  }
}

TEST_P(GoldenTest, ValuesEqualTheReference) {
  const Decoder model = decoder();
  const Hdf5File file(GetParam().folder() / "golden.h5");
  const std::vector<std::pair<std::string, HookKind>> datasets = {
      {"values", HookKind::kV}, {"routed_values", HookKind::kRoutedV}};
  for (const auto& [dataset, kind] : datasets) {
    if (!file.has(dataset)) continue;
    const at::Tensor expected = golden(dataset, 4);
    const auto found = activations(model, golden("ids", 2), {"blocks.*.attn.hook_*v"});
    for (std::int64_t layer = 0; layer < expected.size(0); ++layer) {
      const std::string name = hook_name({kind, static_cast<int>(layer)});
      EXPECT_LT(relative_error(found.at(name).flatten(2), expected[layer]), GetParam().tolerance())
          << name;
    }
  }
}

TEST_P(GoldenTest, GradientsEqualTheReference) {
  const Hdf5File file(GetParam().folder() / "golden.h5");
  if (!file.has("gradients") || GetParam().dtype != ComputeType::kFloat64) {
    GTEST_SKIP() << "no reference of gradients in float64";
  }
  Decoder model = decoder();
  model.set_requires_grad(true);
  const at::Tensor ids = golden("ids", 2);
  const at::Tensor targets = ids.roll(-1, 1);
  targets.select(1, ids.size(1) - 1).fill_(kIgnoredTarget);
  model.forward(ids, {.logits = LogitsFor::kNone, .targets = targets}).loss.backward();
  for (const NamedTensor& parameter : model.parameters()) {
    const at::Tensor expected = golden("gradients/" + parameter.name, 1);
    // Stored as float32.
    EXPECT_LT(relative_error(parameter.tensor.grad().flatten(), expected.flatten()), 1e-6)
        << parameter.name;
  }
}

TEST_P(GoldenTest, DecodingWithTheCacheEqualsTheReference) {
  const Decoder model = decoder();
  const at::Tensor ids = golden("ids", 2);
  KeyValueCache cache;
  std::vector<at::Tensor> logits = {model.forward(ids.narrow(1, 0, 10), {.cache = &cache}).logits};
  for (std::int64_t position = 10; position < ids.size(1); ++position) {
    logits.push_back(model.forward(ids.narrow(1, position, 1), {.cache = &cache}).logits);
  }
  EXPECT_LT(relative_error(torch::cat(logits, 1), golden("logits", 3)), GetParam().tolerance());
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, GoldenTest, ::testing::ValuesIn(golden_cases()),
                         [](const auto& test) {
                           std::string name =
                               test.param.name + "-" + std::string(enum_name(test.param.dtype));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(GreedyGoldenTest, Stories260kTellsTheSameStory) {
  const auto folder = test_data("checkpoints/stories260k");
  if (!exists(folder)) GTEST_SKIP() << skip_reason(folder);
  if (testing::kIsSanitized) GTEST_SKIP() << testing::kProtobufClash;
  const Decoder decoder = load_decoder(Checkpoint::open(folder));
  const std::vector<std::int64_t> begin = {1};
  const std::vector<std::int64_t> tokens = generate(decoder, begin, {.max_new_tokens = 200});
  const auto tokenizer = load_tokenizer(folder);
  std::vector<std::int32_t> ids = {1};
  ids.insert(ids.end(), tokens.begin(), tokens.end());
  std::string expected = testing::read_text(folder / "greedy_200.txt");
  while (expected.ends_with('\n')) expected.pop_back();
  EXPECT_EQ(tokenizer->decode(ids), expected);
}

}  // namespace
}  // namespace lime
