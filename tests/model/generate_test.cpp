// SPDX-License-Identifier: Apache-2.0
#include "model/passes/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/errors.h"
#include "model/model_fixture.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::in_double;
using testing::lively_decoder;
using ::testing::SizeIs;
using testing::small_config;
using ::testing::ThrowsMessage;
using Tokens = std::vector<std::int64_t>;

constexpr std::int64_t kVocab = 31;

class GenerateTest : public ::testing::Test {
 protected:
  /// Returns the logits of the token after `ids`, from a pass without a cache.
  at::Tensor logits_after(const Tokens& ids) const {
    return decoder_.forward(torch::tensor(ids).unsqueeze(0)).logits[0][-1];
  }
  /// Returns how often each token is sampled first.
  std::vector<double> frequencies(GenerateOptions options, int draws) const {
    std::vector<double> counts(kVocab, 0.0);
    options.max_new_tokens = 1;
    for (int seed = 0; seed < draws; ++seed) {
      options.seed = static_cast<std::uint64_t>(seed);
      counts[static_cast<std::size_t>(generate(decoder_, prompt_, options).front())] += 1.0 / draws;
    }
    return counts;
  }

  const Decoder decoder_ = lively_decoder(small_config("lime"), in_double());
  const Tokens prompt_ = {3, 1, 4, 1, 5};
};

/// Four standard errors of a fraction p among 4000 draws.
double tolerance(double p) { return 4.0 * std::sqrt(p * (1.0 - p) / 4000.0) + 1e-9; }

TEST_F(GenerateTest, GreedyTakesTheMostLikelyTokenOfEachFullPass) {
  const Tokens tokens = generate(decoder_, prompt_, {.max_new_tokens = 25});
  ASSERT_THAT(tokens, SizeIs(25));
  Tokens ids = prompt_;
  for (const std::int64_t token : tokens) {
    EXPECT_EQ(token, logits_after(ids).argmax().item<std::int64_t>());
    ids.push_back(token);
  }
}

/// With `dynamic` and `longrope` the angles of cached keys depend on the length of the sequence.
TEST(GenerateRopeTest, RecomputesTheSequenceWhereAnglesChange) {
  RopeSpec dynamic{
      .kind = RopeKind::kDynamic, .factor = 3.0, .original_max_position_embeddings = 8};
  RopeSpec longrope{.kind = RopeKind::kLongRope,
                    .attention_factor = 1.3,
                    .short_factor = {1.0, 1.1, 1.2},
                    .long_factor = {1.5, 2.0, 4.0},
                    .original_max_position_embeddings = 8};
  for (const RopeSpec& rope : {dynamic, longrope}) {
    ModelConfig config = small_config();
    config.spec.ropes = {rope};
    const Decoder decoder = lively_decoder(config, in_double());
    Tokens ids = {3, 1, 4, 1, 5};
    const Tokens tokens = generate(decoder, ids, {.max_new_tokens = 12});
    for (const std::int64_t token : tokens) {
      const at::Tensor logits = decoder.forward(torch::tensor(ids).unsqueeze(0)).logits[0][-1];
      EXPECT_EQ(token, logits.argmax().item<std::int64_t>()) << enum_name(rope.kind);
      ids.push_back(token);
    }
    KeyValueCache cache;
    const at::NoGradGuard no_grad;
    decoder.forward(torch::tensor(Tokens{1, 2, 3}).unsqueeze(0), {.cache = &cache});
    EXPECT_THROW(decoder.forward(torch::ones({1, 6}, torch::kLong), {.cache = &cache}),
                 InvalidArgument);
  }
}

TEST_F(GenerateTest, AmongEqualsTheLowestIdIsTaken) {
  ModelConfig config = small_config();
  Decoder flat(config, 1);
  const at::NoGradGuard no_grad;
  at::Tensor(flat.parameter("lm_head.weight")).zero_();
  EXPECT_EQ(generate(flat, prompt_, {.max_new_tokens = 2}), (Tokens{0, 0}));
}

TEST_F(GenerateTest, SamplesFromTheSoftmaxOfTheLogitsOverTheTemperature) {
  for (const double temperature : {1.0, 4.0}) {
    const at::Tensor expected = torch::softmax(logits_after(prompt_) / temperature, -1);
    const auto counts = frequencies({.temperature = temperature}, 4000);
    for (std::int64_t id = 0; id < kVocab; ++id) {
      const double p = expected[id].item<double>();
      EXPECT_NEAR(counts[static_cast<std::size_t>(id)], p, tolerance(p)) << id;
    }
  }
}

TEST_F(GenerateTest, TopKLeavesTheLikeliestAndTheirProportions) {
  const auto [logits, ids] = logits_after(prompt_).topk(3);
  const at::Tensor expected = torch::softmax(logits / 3.0, -1);
  const auto counts = frequencies({.temperature = 3.0, .top_k = 3}, 4000);
  double sum = 0.0;
  for (std::int64_t i = 0; i < 3; ++i) {
    const double p = expected[i].item<double>();
    const double share = counts.at(static_cast<std::size_t>(ids[i].item<std::int64_t>()));
    EXPECT_NEAR(share, p, tolerance(p));
    sum += share;
  }
  EXPECT_NEAR(sum, 1.0, 1e-9);
}

TEST_F(GenerateTest, TopPLeavesTheSmallestSetThatReachesIt) {
  const auto [p, ids] = torch::softmax(logits_after(prompt_) / 5.0, -1).sort(-1, true);
  const double share = (p[0] + p[1] + 0.5 * p[2]).item<double>();
  const auto counts = frequencies({.temperature = 5.0, .top_p = share}, 4000);
  const double kept = (p[0] + p[1] + p[2]).item<double>();
  for (std::int64_t i = 0; i < kVocab; ++i) {
    const double expected = i < 3 ? p[i].item<double>() / kept : 0.0;
    EXPECT_NEAR(counts.at(static_cast<std::size_t>(ids[i].item<std::int64_t>())), expected,
                tolerance(expected))
        << i;
  }
  const auto only_one = frequencies({.temperature = 5.0, .top_p = 1e-9}, 20);
  EXPECT_DOUBLE_EQ(only_one.at(static_cast<std::size_t>(ids[0].item<std::int64_t>())), 1.0);
}

TEST_F(GenerateTest, TheSeedDecides) {
  GenerateOptions options{.max_new_tokens = 30, .temperature = 3.0, .seed = 1};
  const Tokens first = generate(decoder_, prompt_, options);
  EXPECT_EQ(generate(decoder_, prompt_, options), first);
  options.seed = 2;
  EXPECT_NE(generate(decoder_, prompt_, options), first);
  options.temperature = 0.0;
  const Tokens greedy = generate(decoder_, prompt_, options);
  options.seed = 3;
  EXPECT_EQ(generate(decoder_, prompt_, options), greedy);
}

TEST_F(GenerateTest, AStopTokenEndsTheTextAndIsPartOfIt) {
  const Tokens tokens = generate(decoder_, prompt_, {.max_new_tokens = 20});
  const std::int64_t last = tokens[4];
  const auto first_place = std::find(tokens.begin(), tokens.end(), last);
  const Tokens stopped = generate(decoder_, prompt_, {.max_new_tokens = 20, .stop_tokens = {last}});
  EXPECT_EQ(stopped, Tokens(tokens.begin(), first_place + 1));
}

TEST_F(GenerateTest, HandsOutTokensAsTheyComeAndStopsOnRequest) {
  std::stop_source source;
  Tokens seen;
  const auto on_token = [&](std::int64_t token) {
    seen.push_back(token);
    if (seen.size() == 3) source.request_stop();
  };
  const Tokens tokens =
      generate(decoder_, prompt_, {.max_new_tokens = 20}, on_token, source.get_token());
  EXPECT_EQ(tokens, seen);
  EXPECT_THAT(seen, SizeIs(3));
}

TEST_F(GenerateTest, RefusesWhatCannotBe) {
  const auto message_for = [&](const GenerateOptions& options, const std::string& message) {
    EXPECT_THAT([&] { generate(decoder_, prompt_, options); },
                ThrowsMessage<InvalidArgument>(message));
  };
  message_for({.max_new_tokens = 0}, "max_new_tokens: must be >= 1, got 0");
  message_for({.temperature = -1.0}, "temperature: must be >= 0 and finite, got -1");
  message_for({.top_k = -2}, "top_k: must be >= 0, got -2");
  message_for({.top_p = 0.0}, "top_p: must be in (0, 1], got 0");
  EXPECT_THAT([&] { generate(decoder_, Tokens{}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("at least one token, got none")));
}

}  // namespace
}  // namespace lime
