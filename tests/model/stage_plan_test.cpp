// SPDX-License-Identifier: Apache-2.0
#include "model/decoders/stage_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "checkpoint/parameters.h"
#include "core/errors.h"
#include "core/random.h"
#include "model/model_fixture.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using testing::NamedConfig;

std::vector<int> counts(const DecoderSizes& sizes, int num_stages) {
  std::vector<int> found;
  int first = 0;
  for (const LayerRange& stage : plan_stages(sizes, num_stages)) {
    EXPECT_EQ(stage.first, first);
    first = stage.end();
    found.push_back(stage.count);
  }
  EXPECT_EQ(first, std::ssize(sizes.layers));
  return found;
}

TEST(StagePlanTest, EqualLayersAreSharedEqually) {
  EXPECT_THAT(counts({.layers = {1, 1, 1, 1}}, 1), ElementsAre(4));
  EXPECT_THAT(counts({.layers = {1, 1, 1, 1}}, 2), ElementsAre(2, 2));
  EXPECT_THAT(counts({.layers = std::vector<std::int64_t>(80, 3)}, 4), ElementsAre(20, 20, 20, 20));
  EXPECT_THAT(counts({.layers = {1, 1, 1}}, 3), ElementsAre(1, 1, 1));
}

TEST(StagePlanTest, EmbeddingAndHeadCount) {
  const std::vector<std::int64_t> layers(8, 10);
  EXPECT_THAT(counts({.embedding = 20, .layers = layers, .head = 20}, 3), ElementsAre(2, 4, 2));
  EXPECT_THAT(counts({.embedding = 40, .layers = layers}, 2), ElementsAre(2, 6));
  EXPECT_THAT(counts({.layers = layers, .head = 1000}, 2), ElementsAre(7, 1));
}

/// Returns the largest stage of the best split, by brute force.
std::int64_t smallest_largest(const DecoderSizes& sizes, int first, int left) {
  const int num_layers = static_cast<int>(sizes.layers.size());
  if (left == 1) return sizes.of({first, num_layers - first});
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (int count = 1; first + count <= num_layers - left + 1; ++count) {
    best = std::min(
        best, std::max(sizes.of({first, count}), smallest_largest(sizes, first + count, left - 1)));
  }
  return best;
}

TEST(StagePlanTest, NoOtherCutHasASmallerLargestStage) {
  Random random(1);
  for (int trial = 0; trial < 50; ++trial) {
    DecoderSizes sizes;
    const auto drawn = [&] { return static_cast<std::int64_t>(random.below(30)) + 1; };
    sizes.embedding = drawn();
    sizes.head = drawn();
    sizes.layers.resize(5 + random.below(4));
    std::generate(sizes.layers.begin(), sizes.layers.end(), drawn);
    for (int num_stages = 1; num_stages <= 5; ++num_stages) {
      std::int64_t largest = 0;
      for (const LayerRange& stage : plan_stages(sizes, num_stages)) {
        largest = std::max(largest, sizes.of(stage));
      }
      EXPECT_EQ(largest, smallest_largest(sizes, 0, num_stages)) << trial << " " << num_stages;
    }
  }
}

TEST(StagePlanTest, MoreStagesThanLayersAreRefused) {
  EXPECT_THAT(
      [] {
        plan_stages({.layers = {1, 1, 1}}, 4);
      },
      ::testing::ThrowsMessage<InvalidArgument>(
          "device: cannot split 3 layers among 4 devices, each device needs one; use 3 or fewer"));
}

class DecoderSizesTest : public ::testing::TestWithParam<NamedConfig> {};

TEST_P(DecoderSizesTest, EveryParameterCountsOnce) {
  const ModelConfig& config = GetParam().config;
  const DecoderSizes sizes = decoder_sizes(config);
  ASSERT_EQ(std::ssize(sizes.layers), config.num_hidden_layers);
  if (config.spec == DecoderSpec()) {
    EXPECT_EQ(sizes.embedding, config.vocab_size * config.hidden_size);
    const std::int64_t head =
        config.tie_word_embeddings ? 0 : config.vocab_size * config.hidden_size;
    std::int64_t router = 0;
    for (const ParameterSpec& spec : parameter_specs(config)) {
      if (spec.part == Part::kFinalRouter) router += element_count(spec.shape);
    }
    EXPECT_EQ(sizes.head, config.hidden_size + head + router);
  }
  EXPECT_EQ(sizes.of({0, static_cast<int>(config.num_hidden_layers)}), parameter_count(config));
}

INSTANTIATE_TEST_SUITE_P(Decoders, DecoderSizesTest, ::testing::ValuesIn(testing::small_configs()),
                         testing::config_name);

}  // namespace
}  // namespace lime
