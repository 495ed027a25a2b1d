// SPDX-License-Identifier: Apache-2.0
// Decoders whose layers are split over several devices: here the CPU, several times.
#include "model/passes/pipeline.h"

#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "core/errors.h"
#include "model/decoders/stage_plan.h"
#include "model/model_fixture.h"
#include "model/passes/generate.h"
#include "model/passes/hooks.h"
#include "support/refusal.h"

namespace lime {
namespace {

using testing::activations;
using ::testing::HasSubstr;
using testing::lively_decoder;
using testing::NamedConfig;
using testing::small_config;
using testing::some_ids;
using ::testing::ThrowsMessage;
using testing::with_layers;

std::vector<c10::Device> processors(std::size_t count) {
  return std::vector<c10::Device>(count, c10::Device(c10::kCPU));
}

/// Copies the decoder with its layers split over this many devices.
Decoder spread(const Decoder& decoder, std::size_t num_devices) {
  DecoderOptions options = decoder.options();
  options.devices = processors(num_devices);
  Decoder copy(decoder.config(), 1, options);
  const at::NoGradGuard no_grad;
  for (const NamedTensor& parameter : decoder.parameters()) {
    at::Tensor(copy.parameter(parameter.name)).copy_(parameter.tensor);
  }
  return copy;
}

/// Returns batches of various sizes.
std::vector<at::Tensor> some_batches(std::int64_t count) {
  std::vector<at::Tensor> batches;
  for (std::int64_t i = 0; i < count; ++i) {
    batches.push_back(some_ids(1 + i % 3, 5 + i % 4).add(i).remainder(31));
  }
  return batches;
}

std::function<at::Tensor()> one_after_the_other(std::vector<at::Tensor> batches) {
  return [batches = std::move(batches), next = std::size_t{0}]() mutable {
    return next < batches.size() ? batches[next++] : at::Tensor();
  };
}

class StagesTest : public ::testing::TestWithParam<NamedConfig> {
 protected:
  const Decoder whole_ = lively_decoder(with_layers(GetParam().config, 6));
};

TEST_P(StagesTest, EveryActivationIsThatOfOneDevice) {
  const at::NoGradGuard no_grad;
  const at::Tensor ids = some_ids(2, 9);
  const auto expected = activations(whole_, ids, {"*"});
  for (const std::size_t num_devices : {2, 3, 6}) {
    const auto found = activations(spread(whole_, num_devices), ids, {"*"});
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, activation] : expected) {
      EXPECT_TRUE(at::equal(found.at(name), activation)) << name << ", " << num_devices;
    }
  }
}

TEST_P(StagesTest, ResultsLeaveInOrderWithTheBitsOfOneDevice) {
  const std::vector<at::Tensor> batches = some_batches(9);
  for (const std::size_t num_devices : {1, 2, 3}) {
    const Decoder shared = spread(whole_, num_devices);
    Pipeline pipeline(shared, {}, one_after_the_other(batches));
    for (const at::Tensor& ids : batches) {
      const std::optional<ForwardResult> found = pipeline.pop();
      ASSERT_TRUE(found.has_value());
      const at::NoGradGuard no_grad;
      const ForwardResult expected = whole_.forward(ids);
      EXPECT_TRUE(at::equal(found->logits, expected.logits));
      EXPECT_TRUE(at::equal(found->hidden, expected.hidden));
    }
    EXPECT_FALSE(pipeline.pop().has_value());
  }
}

TEST_P(StagesTest, AReplacementInAnEarlyStageReachesTheLast) {
  const at::NoGradGuard no_grad;
  const at::Tensor ids = some_ids(2, 7);
  HookSet hooks;
  const auto halve = [](const HookPoint&, const at::Tensor& x) { return x * 0.5; };
  const ScopedHook value = hooks.edit({HookKind::kV, 0}, halve);
  const ScopedHook stream = hooks.edit({HookKind::kResidPost, 1}, halve);
  const at::Tensor expected = whole_.forward(ids, {.hooks = &hooks}).logits;
  EXPECT_FALSE(at::equal(expected, whole_.forward(ids).logits));
  const Decoder shared = spread(whole_, 3);
  EXPECT_TRUE(at::equal(shared.forward(ids, {.hooks = &hooks}).logits, expected));
  Pipeline pipeline(shared, {.hooks = &hooks}, one_after_the_other({ids}));
  EXPECT_TRUE(at::equal(pipeline.pop()->logits, expected));
}

TEST_P(StagesTest, WritesTheSameTokensWithACache) {
  const std::vector<std::int64_t> prompt = {3, 1, 4, 1, 5};
  const GenerateOptions options{.max_new_tokens = 12};
  EXPECT_EQ(generate(spread(whole_, 3), prompt, options), generate(whole_, prompt, options));
}

INSTANTIATE_TEST_SUITE_P(Decoders, StagesTest, ::testing::ValuesIn(testing::small_configs()),
                         testing::config_name);

/// Returns the bytes of a pass of 2 x 5 tokens in float32 that do not depend on the decoder: the
/// residual stream, and cosine and sine of 5 positions.
std::int64_t bytes_of_every_decoder(const ModelConfig& config) {
  return 4 * (10 * config.hidden_size + 2 * 5 * config.head_dim / 2);
}

TEST(DeviceLinkTest, WhatLaterLayersReadCrossesOncePerBoundaryAndBatch) {
  ModelConfig config = with_layers(small_config("lime"), 6);
  const std::int64_t layer_bytes = 4 * 10 * 2 * config.num_key_value_heads * config.head_dim;
  const auto carried = [&](const LimeConfig& router, std::int64_t batches) {
    config.lime = router;
    const Decoder decoder = spread(lively_decoder(config), 3);  // 2 layers each
    Pipeline pipeline(decoder, {},
                      one_after_the_other(std::vector<at::Tensor>(static_cast<std::size_t>(batches),
                                                                  some_ids(2, 5))));
    while (pipeline.pop()) continue;
    std::vector<std::int64_t> layers;
    for (const DeviceLink::Traffic& traffic : decoder.traffic()) {
      EXPECT_EQ(traffic.passes, batches);
      EXPECT_EQ(traffic.bytes % batches, 0);
      const std::int64_t buffer = traffic.bytes / batches - bytes_of_every_decoder(config);
      EXPECT_EQ(buffer % layer_bytes, 0);
      layers.push_back(buffer / layer_bytes);
    }
    return layers;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(carried({.router = RouterKind::kFull}, 4), ElementsAre(2, 4));
  EXPECT_THAT(carried({.router = RouterKind::kFirst, .j = 1}, 3), ElementsAre(1, 1));
  EXPECT_THAT(carried({.router = RouterKind::kLast, .j = 2}, 3), ElementsAre(1, 1));
  EXPECT_THAT(carried({.router = RouterKind::kNone}, 1), ElementsAre(0, 0));
}

TEST(DeviceLinkTest, OtherDecodersCarryTheirsOnce) {
  const auto carried = [&](ModelConfig config) {
    config = with_layers(config, 6);
    const Decoder decoder = spread(lively_decoder(config), 2);
    const at::NoGradGuard no_grad;
    decoder.forward(some_ids(2, 5));
    const DeviceLink::Traffic traffic = decoder.traffic().front();
    EXPECT_EQ(traffic.passes, 1);
    return (traffic.bytes - bytes_of_every_decoder(config)) / (4 * 10);
  };
  const ModelConfig llama = small_config();
  EXPECT_EQ(carried(llama), 0);
  EXPECT_EQ(carried(small_config("resformer")), llama.num_key_value_heads * llama.head_dim);
  const ModelConfig dense = small_config("denseformer");
  ASSERT_EQ(dense.denseformer.dilation, 1);
  EXPECT_EQ(carried(dense), 4 * dense.hidden_size) << "the embedding and three layers' outputs";
  const ModelConfig streams = small_config("hyper_connections");
  EXPECT_EQ(carried(streams), (streams.hyper_connections.rate - 1) * streams.hidden_size);
}

class PipelineTest : public ::testing::Test {
 protected:
  const Decoder decoder_ = spread(lively_decoder(with_layers(small_config(), 6)), 3);
  const std::vector<at::Tensor> batches_ = some_batches(20);
};

TEST_F(PipelineTest, EachStageListensOnAThreadOfItsOwn) {
  HookSet hooks;
  std::array<std::set<std::thread::id>, 6> threads;
  std::vector<ScopedHook> readers;
  for (int layer = 0; layer < 6; ++layer) {
    readers.push_back(
        hooks.read({HookKind::kResidPost, layer}, [&](const HookPoint& point, const at::Tensor&) {
          threads[static_cast<std::size_t>(point.layer)].insert(std::this_thread::get_id());
        }));
  }
  {
    Pipeline pipeline(decoder_, {.hooks = &hooks}, one_after_the_other(batches_));
    while (pipeline.pop()) continue;
  }
  for (std::size_t layer = 0; layer < 6; layer += 2) {
    EXPECT_EQ(threads[layer].size(), 1U);
    EXPECT_EQ(threads[layer], threads[layer + 1]);
    EXPECT_NE(threads[layer], threads[(layer + 2) % 6]);
  }
}

TEST_F(PipelineTest, StagesWorkOnDifferentBatchesAtTheSameTime) {
  HookSet hooks;
  std::atomic<int> begun = 0;
  bool overlaps = true;
  const ScopedHook first = hooks.read({HookKind::kEmbed, 0}, [&](auto&&...) { ++begun; });
  int ended = 0;
  const ScopedHook last = hooks.read({HookKind::kResidPost, 5}, [&](auto&&...) {
    ++ended;
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (begun < std::min(ended + 1, 20)) {  // the next batch has begun meanwhile
      if (std::chrono::steady_clock::now() > give_up) overlaps = false;
      if (!overlaps) break;
      std::this_thread::yield();
    }
  });
  Pipeline pipeline(decoder_, {.hooks = &hooks}, one_after_the_other(batches_));
  int results = 0;
  while (pipeline.pop()) ++results;
  EXPECT_EQ(results, 20);
  EXPECT_TRUE(overlaps);
}

TEST_F(PipelineTest, FewBatchesAreUnderWay) {
  std::atomic<int> begun = 0;
  const auto next = [&]() -> at::Tensor {
    ++begun;
    return some_ids(1, 4);
  };
  Pipeline pipeline(decoder_, {}, next);
  for (int taken = 1; taken <= 10; ++taken) {
    ASSERT_TRUE(pipeline.pop().has_value());
    EXPECT_LE(begun - taken, 2 * 3);
  }
}

TEST_F(PipelineTest, StopsWithTheStageOfTheLastLayer) {
  Pipeline pipeline(decoder_, {.stop_after_layer = 2}, one_after_the_other(batches_));
  for (const at::Tensor& ids : batches_) {
    const at::NoGradGuard no_grad;
    EXPECT_TRUE(
        at::equal(pipeline.pop()->hidden, decoder_.forward(ids, {.stop_after_layer = 2}).hidden));
  }
  EXPECT_FALSE(pipeline.pop().has_value());
  EXPECT_EQ(decoder_.traffic()[1].passes, 0);
}

TEST_F(PipelineTest, AnErrorInAnyStageReachesTheOwner) {
  for (const int layer : {0, 3, 5}) {
    HookSet hooks;
    int calls = 0;
    const ScopedHook reader = hooks.read({HookKind::kV, layer}, [&](auto&&...) {
      if (++calls == 4) throw NumericalError("layer {} failed", layer);
    });
    std::atomic<int> ends = 0;
    {
      Pipeline pipeline(decoder_, {.hooks = &hooks}, one_after_the_other(batches_),
                        [&] { ++ends; });
      EXPECT_THAT(
          [&] {
            while (pipeline.pop()) continue;
          },
          ThrowsMessage<NumericalError>(fmt::format("layer {} failed", layer)));
      EXPECT_THROW(pipeline.pop(), NumericalError) << "and stays";
    }
    EXPECT_EQ(ends, 2) << "once for the error, once at the end";
  }
}

TEST_F(PipelineTest, ABrokenSourceOrBatchReachesTheOwner) {
  Pipeline broken(decoder_, {}, []() -> at::Tensor { throw IoError("no more tokens"); });
  EXPECT_THAT([&] { broken.pop(); }, ThrowsMessage<IoError>("no more tokens"));
  std::vector<at::Tensor> batches = batches_;
  batches[5] = at::full({1, 3}, 31, at::kLong);
  Pipeline pipeline(decoder_, {}, one_after_the_other(batches));
  EXPECT_THAT(
      [&] {
        while (pipeline.pop()) continue;
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("token ids must be from 0 to 30, got 31")));
}

TEST_F(PipelineTest, CanBeGivenUpAtAnyTime) {
  for (int taken = 0; taken < 8; ++taken) {
    Pipeline pipeline(decoder_, {}, one_after_the_other(batches_));
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(pipeline.pop().has_value());
  }
}

TEST(DecoderStagesTest, AreBalancedByTheirBytes) {
  const Decoder decoder = spread(lively_decoder(with_layers(small_config(), 6)), 3);
  std::int64_t bytes = 0;
  int next = 0;
  for (const DecoderStage& stage : decoder.stages()) {
    EXPECT_EQ(stage.layers.first, next);
    next = stage.layers.end();
    bytes += stage.weight_bytes;
  }
  EXPECT_EQ(next, 6);
  std::int64_t expected = 0;
  for (const NamedTensor& parameter : decoder.parameters()) expected += parameter.tensor.nbytes();
  EXPECT_EQ(bytes, expected);
}

TEST(DecoderStagesTest, GradientsNeedOneDevice) {
  Decoder decoder = spread(lively_decoder(small_config()), 2);
  decoder.set_requires_grad(true);
  EXPECT_THAT([&] { decoder.forward(some_ids(1, 4)); },
              ThrowsMessage<InvalidArgument>(
                  "decoder: gradients need one device, got 2; disable them first"));
}

std::string refusal(const std::string& devices) {
  return testing::refusal_of<InvalidArgument>([&] { parse_devices(devices); });
}

TEST(ParseDevicesTest, TakesListsOfGpusOrOfTheProcessor) {
  EXPECT_EQ(devices_text(parse_devices("cpu")), "cpu");
  EXPECT_EQ(devices_text(parse_devices("cpu,cpu,cpu")), "cpu,cpu,cpu");
}

TEST(ParseDevicesTest, RefusesOthersInOneLine) {
  EXPECT_EQ(refusal("cuda:0,cuda:0"),
            "device: each GPU must be listed once, got 'cuda:0' twice in 'cuda:0,cuda:0'");
  for (const char* const mixed : {"cpu,cuda:0", "cuda:0,cpu"}) {
    EXPECT_EQ(
        refusal(mixed),
        fmt::format("device: several devices must all be GPUs, or all the CPU, got '{}'", mixed));
  }
  for (const char* const unknown : {"tpu", "cuda", "auto", ""}) {
    EXPECT_EQ(
        refusal(fmt::format("cpu,{}", unknown)),
        fmt::format("device: several devices must all be cuda:N, or all cpu, got '{}' in 'cpu,{}'",
                    unknown, unknown));
  }
  EXPECT_THAT(refusal("cuda:98,cuda:99"), HasSubstr("device: 'cuda:98' does not exist, LibTorch"));
  EXPECT_THAT(refusal("cuda:x,cuda:1"),
              HasSubstr("device: must be auto, cpu, cuda or cuda:N, got 'cuda:x'"));
}

}  // namespace
}  // namespace lime
