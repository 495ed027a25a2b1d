// SPDX-License-Identifier: Apache-2.0
#include "model/router_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/errors.h"
#include "model/model_fixture.h"
#include "model/next_tokens.h"

namespace lime {
namespace {

using testing::in_double;
using testing::lively_decoder;
using testing::max_difference;
using testing::small_config;
using testing::some_ids;
using ::testing::ThrowsMessage;

constexpr const char* kRouter2 = "model.layers.2.self_attn.lime_router.static_weights";

std::vector<RouterEdit> edits(const char* list) {
  return parse_router_edits(
      Json::parse(fmt::format(R"({{"format": "lime-router-edit/1", "edits": {}}})", list)), "edit");
}

TEST(RouterEditTest, ScalesTheRoutesThatAreNamed) {
  const ModelConfig config = small_config(DecoderKind::kLime);
  const Decoder decoder = lively_decoder(config, in_double());
  const at::Tensor expected = decoder.parameter(kRouter2).clone();  // [2, 3 sources * 2 heads]
  apply_router_edits(edits(R"([{"layer": 2, "source": 0, "scale": 0},
                               {"layer": 2, "head": 1, "source_head": 0, "scale": 0.5},
                               {"layer": 2, "head": 1, "source": 1, "source_head": 0, "scale": 3}])"),
                     decoder);
  expected.narrow(1, 0, 2).zero_();
  expected[1][2].mul_(1.5);
  expected[1][4].mul_(0.5);
  EXPECT_LT(max_difference(decoder.parameter(kRouter2), expected), 1e-15);
}

/// With every route but a layer's own switched off, a router of first weights is the identity.
TEST(RouterEditTest, MakesALlamaOfALimeThatReadsOnlyItself) {
  ModelConfig config = small_config(DecoderKind::kLime);
  const Decoder lime(config, 3, in_double());
  apply_router_edits(edits(R"([{"source": 0, "scale": 0}, {"layer": 2, "source": 1, "scale": 0}])"),
                     lime);
  config.decoder = DecoderKind::kLlama;
  const Decoder llama(config, 3, in_double());
  {
    const at::NoGradGuard no_grad;
    for (const auto& [name, tensor] : llama.parameters())
      at::Tensor(tensor).copy_(lime.parameter(name));
  }
  const at::Tensor ids = some_ids(2, 7);
  EXPECT_LT(max_difference(lime.forward(ids).logits, llama.forward(ids).logits), 1e-12);
}

TEST(RouterEditTest, ReadsRoutersThatKeepHeadsApartOrReadFewLayers) {
  ModelConfig config = small_config(DecoderKind::kLime);
  config.lime.head_mixing = false;
  const Decoder apart = lively_decoder(config, in_double());
  const at::Tensor expected = apart.parameter(kRouter2).clone();  // [2, 3]
  apply_router_edits(edits(R"([{"layer": 2, "head": 1, "source": 1, "scale": 2}])"), apart);
  expected[1][1].mul_(2.0);
  EXPECT_LT(max_difference(apart.parameter(kRouter2), expected), 1e-15);
  EXPECT_THAT(
      [&] { apply_router_edits(edits(R"([{"head": 0, "source_head": 1, "scale": 2}])"), apart); },
      ThrowsMessage<InvalidArgument>("router edit 0: head and source_head must be equal, for these "
                                     "routers do not mix heads, got 0 and 1"));
  config.lime.router = RouterKind::kLast;
  config.lime.j = 2;
  EXPECT_THAT(
      [&] { check_router_edits(edits(R"([{"layer": 2, "source": 0, "scale": 0}])"), config); },
      ThrowsMessage<InvalidArgument>("router edit 0: source must be one of the layers 1, 2 "
                                     "that layer 2 reads, got 0"));
}

TEST(RouterEditTest, NamesTheFirstFault) {
  const auto refuses = [](const char* list, const char* message) {
    EXPECT_THAT([&] { edits(list); }, ThrowsMessage<FormatError>(message)) << list;
  };
  refuses("[]", "edit: edits must be a list of at least one edit");
  refuses("[3]", "edit: edit 0: must be an object, got 3");
  refuses(R"([{"layer": 1}])", "edit: edit 0: must have a scale; 0 switches the route off");
  refuses(R"([{"scale": 1}, {"layer": -1, "scale": 0}])",
          "edit: edit 1: layer must be a whole number >= 0, got -1");
  refuses(R"([{"scale": "off"}])", "edit: edit 0: scale must be a finite number, got \"off\"");
  refuses(R"([{"layers": 1, "scale": 0}])",
          "edit: edit 0: must have layer, head, source, source_head and scale only, got 'layers'");
  EXPECT_THAT([] { parse_router_edits(Json::parse("[]"), "edit"); },
              ThrowsMessage<FormatError>(
                  "edit: must be an object with \"format\": \"lime-router-edit/1\", got []"));

  const ModelConfig lime = small_config(DecoderKind::kLime);
  const auto misses = [](const char* list, const ModelConfig& config, const char* message) {
    EXPECT_THAT([&] { check_router_edits(edits(list), config); },
                ThrowsMessage<InvalidArgument>(message))
        << list;
  };
  misses(R"([{"layer": 0, "scale": 0}])", lime,
         "router edit 0: layer must lie in 1 to 2, for layer 0 has no router, got 0");
  misses(R"([{"source_head": 2, "scale": 0}])", lime,
         "router edit 0: source_head must lie in 0 to 1, got 2");
  misses(R"([{"source": 3, "scale": 0}])", lime,
         "router edit 0: source must be a layer that is read, got 3");
  misses(
      R"([{"scale": 0}])", small_config(),
      "router edit: the model must be a LIMe whose routers have weights of their own, got llama");
  ModelConfig average = lime;
  average.lime.router = RouterKind::kAverage;
  misses(R"([{"scale": 0}])", average,
         "router edit: the model must be a LIMe whose routers have weights of their own, got lime "
         "with average routers");
}

TEST(NextTokensTest, AreTheLikeliestOfTheForwardPass) {
  const Decoder decoder = lively_decoder(small_config(), in_double());
  const at::Tensor ids = some_ids(1, 5);
  const std::vector<std::int64_t> prompt(ids.data_ptr<std::int64_t>(),
                                         ids.data_ptr<std::int64_t>() + 5);
  const NextTokens next = next_tokens(decoder, prompt, 3);
  const at::NoGradGuard no_grad;
  const at::Tensor expected = torch::log_softmax(decoder.forward(ids).logits[0], -1);
  const auto [values, places] = expected[4].topk(3);
  ASSERT_EQ(next.tokens.size(), 3U);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(next.tokens[static_cast<std::size_t>(i)].id, places[i].item<std::int64_t>());
    EXPECT_NEAR(next.tokens[static_cast<std::size_t>(i)].log_probability, values[i].item<double>(),
                1e-12);
  }
  EXPECT_NEAR(next.entropy, -(expected[4].exp() * expected[4]).sum().item<double>(), 1e-12);
  const at::Tensor of_prompt =
      expected.narrow(0, 0, 4).gather(1, ids[0].narrow(0, 1, 4).unsqueeze(1));
  ASSERT_TRUE(next.prompt_loss);
  EXPECT_NEAR(*next.prompt_loss, -of_prompt.mean().item<double>(), 1e-12);
  EXPECT_EQ(next_tokens(decoder, prompt, 1000).tokens.size(), 31U);
  EXPECT_THROW(next_tokens(decoder, {}, 1), InvalidArgument);
}

}  // namespace
}  // namespace lime
