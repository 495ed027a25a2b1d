// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <span>
#include <vector>

#include "checkpoint/router_layout.h"
#include "core/errors.h"
#include "model/decoders/decoder.h"
#include "model/model_fixture.h"
#include "model/passes/generate.h"

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
  const ModelConfig config = small_config("lime");
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

/// With every route except a layer's own disabled, a router with initial weights is the identity.
TEST(RouterEditTest, MakesALlamaOfALimeThatReadsOnlyItself) {
  ModelConfig config = small_config("lime");
  const Decoder lime(config, 3, in_double());
  apply_router_edits(edits(R"([{"source": 0, "scale": 0}, {"layer": 2, "source": 1, "scale": 0}])"),
                     lime);
  config.routing = DepthRouting::kNone;
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
  ModelConfig config = small_config("lime");
  config.lime.head_mixing = false;
  const Decoder apart = lively_decoder(config, in_double());
  const at::Tensor expected = apart.parameter(kRouter2).clone();  // [2, 3]
  apply_router_edits(edits(R"([{"layer": 2, "head": 1, "source": 1, "scale": 2}])"), apart);
  expected[1][1].mul_(2.0);
  EXPECT_LT(max_difference(apart.parameter(kRouter2), expected), 1e-15);
  EXPECT_THAT(
      [&] { apply_router_edits(edits(R"([{"head": 0, "source_head": 1, "scale": 2}])"), apart); },
      ThrowsMessage<InvalidArgument>("router edit 0: head and source_head must be equal because "
                                     "these routers do not mix heads, got 0 and 1"));
  config.lime.router = RouterKind::kLast;
  config.lime.j = 2;
  EXPECT_THAT(
      [&] { check_router_edits(edits(R"([{"layer": 2, "source": 0, "scale": 0}])"), config); },
      ThrowsMessage<InvalidArgument>("router edit 0: source must be one of the layers 1, 2 "
                                     "that layer 2 reads, got 0"));
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

  std::vector<std::int64_t> layers;
  const std::vector<ReadToken> read = read_tokens(
      decoder, prompt, 3, [&](const Progress& progress) { layers.push_back(progress.done); });
  ASSERT_EQ(read.size(), 5U);
  EXPECT_EQ(layers.size(), static_cast<std::size_t>(decoder.config().num_hidden_layers) + 1U);
  EXPECT_EQ(layers.back(), decoder.config().num_hidden_layers);
  EXPECT_EQ(loss_of(read), next.prompt_loss);
  EXPECT_FALSE(loss_of(std::span(read).first(1)));
  EXPECT_FALSE(read[0].log_probability);
  for (std::size_t t = 0; t < 5; ++t) {
    const auto place = static_cast<std::int64_t>(t);
    EXPECT_EQ(read[t].id, prompt[t]);
    EXPECT_EQ(read[t].next.tokens[0].id, expected[place].argmax().item<std::int64_t>());
    if (t == 0) continue;
    EXPECT_NEAR(*read[t].log_probability, of_prompt[place - 1].item<double>(), 1e-12);
  }
  EXPECT_EQ(read[4].next.entropy, next.entropy);
  EXPECT_EQ(read[4].next.tokens[2].log_probability, next.tokens[2].log_probability);
}

}  // namespace
}  // namespace lime
