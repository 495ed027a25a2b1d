// SPDX-License-Identifier: Apache-2.0
#include "model/decoders/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "core/errors.h"
#include "model/model_fixture.h"

namespace lime {
namespace {

using testing::activations;
using testing::config_name;
using ::testing::HasSubstr;
using testing::in_double;
using testing::lively_decoder;
using testing::max_difference;
using testing::NamedConfig;
using testing::small_config;
using testing::small_configs;
using testing::some_ids;
using ::testing::ThrowsMessage;

/// Rounding differences of float64 sums in another order: logits are of order 10.
constexpr double kRounding = 1e-12;

class EveryDecoderTest : public ::testing::TestWithParam<NamedConfig> {
 protected:
  Decoder decoder_ = lively_decoder(GetParam().config, in_double());
  const at::Tensor ids_ = some_ids(3, 11);
};

TEST_P(EveryDecoderTest, ASequenceDoesNotDependOnItsBatch) {
  const at::Tensor together = decoder_.forward(ids_).logits;
  for (std::int64_t row = 0; row < 3; ++row) {
    const at::Tensor alone = decoder_.forward(ids_.narrow(0, row, 1)).logits;
    EXPECT_LT(max_difference(alone, together.narrow(0, row, 1)), kRounding) << row;
  }
}

TEST_P(EveryDecoderTest, WhatStandsBehindATokenDoesNotReachIt) {
  const at::Tensor padded = decoder_.forward(ids_).logits;
  const at::Tensor bare = decoder_.forward(ids_.narrow(1, 0, 6)).logits;
  EXPECT_LT(max_difference(padded.narrow(1, 0, 6), bare), kRounding);
}

TEST_P(EveryDecoderTest, TheCacheChangesNothing) {
  const at::Tensor whole = decoder_.forward(ids_).logits;
  KeyValueCache cache;
  std::vector<at::Tensor> parts;
  for (const auto& [first, count] : {std::pair(0, 4), {4, 3}, {7, 1}, {8, 1}, {9, 1}, {10, 1}}) {
    parts.push_back(decoder_.forward(ids_.narrow(1, first, count), {.cache = &cache}).logits);
  }
  EXPECT_LT(max_difference(torch::cat(parts, 1), whole), kRounding);
}

TEST_P(EveryDecoderTest, StoppingEarlyComputesTheSameAndNoFurther) {
  const auto whole = activations(decoder_, ids_, {"blocks.*.hook_resid_post"});
  for (int layer = 0; layer < 3; ++layer) {
    ForwardOptions options;
    options.stop_after_layer = layer;
    const auto found = activations(decoder_, ids_, {"*"}, options);
    const ForwardResult result = decoder_.forward(ids_, options);
    const std::string last = hook_name({HookKind::kResidPost, layer});
    EXPECT_TRUE(torch::equal(result.hidden, whole.at(last))) << last;
    EXPECT_FALSE(result.logits.defined());
    const auto points = testing::all_hook_points(layer + 1);
    const auto reached = std::ranges::count_if(points, [](const HookPoint& point) {
      return point.kind != HookKind::kFinalNormalized && has_hook(GetParam().config, point);
    });
    EXPECT_EQ(std::ssize(found), reached);
    EXPECT_FALSE(found.contains(hook_name({HookKind::kResidPre, layer + 1})));
    EXPECT_FALSE(found.contains("ln_final.hook_normalized"));
  }
}

TEST_P(EveryDecoderTest, LogitsOfTheLastTokenAreThoseOfAllTokens) {
  const at::Tensor all = decoder_.forward(ids_).logits;
  const at::Tensor last = decoder_.forward(ids_, {.logits = LogitsFor::kLastToken}).logits;
  EXPECT_LT(max_difference(last, all.narrow(1, 10, 1)), kRounding);
  EXPECT_FALSE(decoder_.forward(ids_, {.logits = LogitsFor::kNone}).logits.defined());
}

TEST_P(EveryDecoderTest, AWorkspaceMayBeUsedAgain) {
  Workspace workspace;
  const at::Tensor first = decoder_.forward(ids_).logits;
  for (const std::int64_t length : {11, 4, 11}) {
    const at::Tensor logits =
        decoder_.forward(ids_.narrow(1, 0, length), {.workspace = &workspace}).logits;
    EXPECT_LT(max_difference(logits, first.narrow(1, 0, length)), kRounding);
  }
}

TEST_P(EveryDecoderTest, TheGradientPathEqualsTheInferencePath) {
  const at::Tensor inference = decoder_.forward(ids_).logits;
  decoder_.set_requires_grad(true);
  const at::Tensor training = decoder_.forward(ids_).logits;
  EXPECT_TRUE(training.requires_grad());
  EXPECT_LT(max_difference(training.detach(), inference), kRounding);
}

/// Each parameter is moved in a random direction, one at a time: the loss must change as the
/// gradient predicts. Central differences of step h have an error of O(h^2).
TEST_P(EveryDecoderTest, GradientsAreThoseOfFiniteDifferences) {
  const auto loss = [&] { return decoder_.forward(ids_).logits.square().mean(); };
  decoder_.set_requires_grad(true);
  loss().backward();
  const at::NoGradGuard no_grad;
  torch::manual_seed(1);
  constexpr double kStep = 1e-5;
  for (const auto& [name, parameter] : decoder_.parameters()) {
    at::Tensor direction = torch::randn_like(parameter);
    direction.div_(direction.norm());
    const at::Tensor& gradient = parameter.grad();  // undefined if the parameter is unused
    const double expected = gradient.defined() ? (gradient * direction).sum().item<double>() : 0.0;
    at::Tensor weight = parameter;
    weight.add_(direction, kStep);
    const double above = loss().item<double>();
    weight.add_(direction, -2.0 * kStep);
    const double below = loss().item<double>();
    weight.add_(direction, kStep);
    const double measured = (above - below) / (2.0 * kStep);
    EXPECT_NEAR(measured, expected, 1e-6 * std::max(1.0, std::abs(expected))) << name;
  }
}

/// Large enough that every kernel uses several threads.
TEST_P(EveryDecoderTest, GivesTheSameBitsForAnyNumberOfThreads) {
  if (at::hasMKL()) GTEST_SKIP() << "a LibTorch with MKL multiplies with MKL, which may differ";
  ModelConfig config = GetParam().config;
  config.hidden_size = 96;
  config.intermediate_size = 320;
  config.head_dim = 24;
  const Decoder decoder = lively_decoder(config);
  const at::Tensor ids = some_ids(3, 160);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor alone = decoder.forward(ids).logits;
  for (const int count : {2, 3}) {
    at::set_num_threads(count);
    EXPECT_TRUE(torch::equal(decoder.forward(ids).logits, alone)) << count << " threads";
  }
  at::set_num_threads(threads);
}

TEST_P(EveryDecoderTest, TheSameSeedGivesTheSameWeights) {
  const Decoder a(GetParam().config, 5);
  const Decoder b(GetParam().config, 5);
  const Decoder c(GetParam().config, 6);
  bool any_differs = false;
  for (std::size_t i = 0; i < a.parameters().size(); ++i) {
    EXPECT_TRUE(torch::equal(a.parameters()[i].tensor, b.parameters()[i].tensor));
    any_differs |= !torch::equal(a.parameters()[i].tensor, c.parameters()[i].tensor);
  }
  EXPECT_TRUE(any_differs);
}

/// About a dozen consecutive roundings to 8 bits; logits of the initial weights.
TEST_P(EveryDecoderTest, Bfloat16IsCloseToFloat32) {
  const Decoder exact(GetParam().config, 5);
  const Decoder rounded(GetParam().config, 5, {.dtype = ComputeType::kBfloat16});
  const at::Tensor expected = exact.forward(ids_).logits;
  const at::Tensor difference = rounded.forward(ids_).logits.to(torch::kFloat) - expected;
  EXPECT_LT((difference.norm() / expected.norm()).item<double>(), 0.05);
}

INSTANTIATE_TEST_SUITE_P(Decoders, EveryDecoderTest, ::testing::ValuesIn(small_configs()),
                         config_name);

/// A LIMe with identity routers, and the LLaMA with the same weights.
class IdentityRouterTest : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(IdentityRouterTest, MakesLimeALlama) {
  ModelConfig config = small_config("lime");
  config.num_key_value_heads = GetParam();
  const Decoder lime = lively_decoder(config, in_double());
  config.routing = DepthRouting::kNone;
  const Decoder llama = lively_decoder(config, in_double());
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : lime.parameters()) {
    at::Tensor weight = tensor;
    if (name.find("lime_router") == std::string::npos) {
      weight.copy_(llama.parameter(name));
    } else {
      weight.zero_();
      const std::int64_t heads = weight.size(0);
      weight.narrow(1, weight.size(1) - heads, heads).copy_(torch::eye(heads, torch::kDouble));
    }
  }
  const at::Tensor ids = some_ids(2, 13);
  EXPECT_LT(max_difference(lime.forward(ids).logits, llama.forward(ids).logits), 1e-12);
  const auto of_lime = activations(lime, ids, {"*"});
  const auto of_llama = activations(llama, ids, {"*"});
  for (const auto& [name, activation] : of_llama) {
    if (name.ends_with("attn_scores")) continue;  // minus infinity where masked
    if (name.ends_with("hook_route")) continue;   // a LIMe has weights of all heads
    EXPECT_LT(max_difference(of_lime.at(name), activation), 1e-12) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(KeyValueHeads, IdentityRouterTest, ::testing::Values(1, 2, 4));

TEST(DecoderErrorsTest, NamesTheFirstIdOutsideTheVocabulary) {
  const Decoder decoder(small_config(), 1);
  at::Tensor ids = some_ids(2, 5);
  ids[1][3] = 31;
  ids[1][4] = -7;
  EXPECT_THAT([&] { decoder.forward(ids); },
              ThrowsMessage<InvalidArgument>(
                  "decoder: token ids must be from 0 to 30, got 31 in sequence 1 at position 3"));
}

TEST(DecoderErrorsTest, IdsMustBeABatchOfWholeNumbers) {
  const Decoder decoder(small_config(), 1);
  EXPECT_THAT(
      [&] {
        decoder.forward(torch::zeros({2, 3}));
      },
      ThrowsMessage<InvalidArgument>("decoder: ids must be int64 [batch, seq] and not "
                                     "empty, got Float [2, 3]"));
  EXPECT_THAT(
      [&] {
        decoder.forward(torch::zeros({0, 3}, torch::kLong));
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("got Long [0, 3]")));
  EXPECT_THAT([&] { decoder.forward(torch::zeros({3}, torch::kLong)); },
              ThrowsMessage<InvalidArgument>(HasSubstr("got Long [3]")));
}

TEST(DecoderErrorsTest, ALayerToStopAfterMustExist) {
  const Decoder decoder(small_config(), 1);
  for (const int layer : {-1, 3}) {
    ForwardOptions options;
    options.stop_after_layer = layer;
    EXPECT_THAT(
        [&] { decoder.forward(some_ids(1, 2), options); },
        ThrowsMessage<InvalidArgument>(HasSubstr("stop_after_layer must be from 0 to 2, got ")));
  }
}

TEST(DecoderErrorsTest, ACacheIsForInferenceAndForOneBatch) {
  Decoder decoder(small_config(), 1);
  KeyValueCache cache;
  decoder.forward(some_ids(2, 4), {.cache = &cache});
  EXPECT_THAT([&] { decoder.forward(some_ids(3, 1), {.cache = &cache}); },
              ThrowsMessage<InvalidArgument>(
                  "cache: contains 2 sequences, got 3; clear it before another batch"));
  cache.clear();
  decoder.forward(some_ids(3, 1), {.cache = &cache});
  decoder.set_requires_grad(true);
  EXPECT_THAT([&] { decoder.forward(some_ids(3, 1), {.cache = &cache}); },
              ThrowsMessage<InvalidArgument>(
                  "decoder: a cache or a tree is for inference; disable gradients first"));
}

TEST(DecoderErrorsTest, UnknownParametersAndDevicesAreNamed) {
  const Decoder decoder(small_config(), 1);
  EXPECT_THAT([&] { decoder.parameter("model.bias"); },
              ThrowsMessage<InvalidArgument>("decoder: unknown parameter 'model.bias'"));
  EXPECT_THAT(
      [] { parse_device("gpu"); },
      ThrowsMessage<InvalidArgument>("device: must be auto, cpu, cuda or cuda:N, got 'gpu'"));
  EXPECT_THAT(
      [] { parse_device("cuda:99"); },
      ThrowsMessage<InvalidArgument>(HasSubstr("device: 'cuda:99' does not exist, LibTorch")));
  EXPECT_THAT([] { use_threads(-1); },
              ThrowsMessage<InvalidArgument>(HasSubstr("threads: must be from 0 to 1024")));
}

TEST(DecoderErrorsTest, ATypeThatLibTorchDoesNotComputeInIsToldAtOnce) {
  try {
    const Decoder decoder(small_config(), 1, {.dtype = ComputeType::kFloat16});
    EXPECT_TRUE(decoder.forward(some_ids(1, 3)).logits.defined()) << "it does";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("does not support float16 on 'cpu'; use float32 or"));
  }
}

}  // namespace
}  // namespace lime
