// SPDX-License-Identifier: Apache-2.0
#include "capture/shard_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lime {
namespace {

using ::testing::ElementsAre;

TEST(ShardPlanTest, TakesAsManyWholeBatchesAsTokensAllow) {
  const CaptureSize size{
      .num_sequences = 10, .num_tokens = 100, .num_rows = 100, .bytes_per_row = 4};
  EXPECT_THAT(plan_shards(size, 2, {.tokens = 45, .bytes = 1 << 20}),
              ElementsAre(SequenceRange{0, 4}, SequenceRange{4, 4}, SequenceRange{8, 2}));
}

TEST(ShardPlanTest, TakesAsManyWholeBatchesAsBytesAllow) {
  const CaptureSize size{
      .num_sequences = 4, .num_tokens = 40, .num_rows = 40, .bytes_per_row = 100};
  EXPECT_THAT(plan_shards(size, 1, {.tokens = 1000, .bytes = 2500}),
              ElementsAre(SequenceRange{0, 2}, SequenceRange{2, 2}));
}

TEST(ShardPlanTest, TakesAtLeastOneBatch) {
  const CaptureSize size{
      .num_sequences = 3, .num_tokens = 30, .num_rows = 30, .bytes_per_row = 100};
  EXPECT_THAT(plan_shards(size, 2, {.tokens = 1, .bytes = 1}),
              ElementsAre(SequenceRange{0, 2}, SequenceRange{2, 1}));
}

TEST(ShardPlanTest, OfSeveralAtOnceAreWholeRoundsOfSimilarSize) {
  const CaptureSize size{
      .num_sequences = 32, .num_tokens = 320, .num_rows = 320, .bytes_per_row = 4};
  EXPECT_EQ(plan_shards(size, 1, {.tokens = 30, .bytes = 1 << 20}).size(), 11U);
  const auto shards = plan_shards(size, 1, {.tokens = 30, .bytes = 1 << 20}, 8);
  ASSERT_EQ(shards.size(), 16U);
  for (const SequenceRange& shard : shards) EXPECT_EQ(shard.count, 2);
}

TEST(ShardPlanTest, OfSeveralAtOnceHaveAtLeastOneBatch) {
  const CaptureSize size{.num_sequences = 3, .num_tokens = 30, .num_rows = 30, .bytes_per_row = 4};
  EXPECT_THAT(plan_shards(size, 2, {.tokens = 1000, .bytes = 1 << 20}, 4),
              ElementsAre(SequenceRange{0, 2}, SequenceRange{2, 1}));
}

TEST(ShardPlanTest, FillsPassesWithShortSequences) {
  EXPECT_EQ(choose_batch_size(std::nullopt, 2048), 8);
  EXPECT_EQ(choose_batch_size(std::nullopt, 16), 256);
  EXPECT_EQ(choose_batch_size(3, 16), 3);
}

}  // namespace
}  // namespace lime
