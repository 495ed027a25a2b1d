// SPDX-License-Identifier: Apache-2.0
#include "train/packed_batches.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

#include "core/errors.h"
#include "support/test_data.h"
#include "train/batch_source.h"
#include "train/token_shards.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Tokens 100, 101, ... in files of the given sizes.
class TokenShardsTest : public ::testing::TestWithParam<int> {
 protected:
  TokenShards shards(const std::vector<std::int64_t>& sizes) const {
    std::vector<std::filesystem::path> files;
    std::int32_t next = 100;
    for (const std::int64_t size : sizes) {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(size));
      std::iota(ids.begin(), ids.end(), next);
      next += static_cast<std::int32_t>(size);
      files.push_back(folder_ / ("part" + std::to_string(files.size())));
      write_token_shard(files.back(), ids, GetParam());
    }
    return {files, GetParam()};
  }

  testing::TemporaryFolder folder_;
};

TEST_P(TokenShardsTest, FilesCountAsOneList) {
  const TokenShards tokens = shards({3, 0, 4, 1});
  EXPECT_EQ(tokens.size(), 8);
  for (std::int64_t begin = 0; begin < 8; ++begin) {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(8 - begin));
    tokens.copy(begin, ids);
    std::vector<std::int64_t> expected(ids.size());
    std::iota(expected.begin(), expected.end(), 100 + begin);
    EXPECT_EQ(ids, expected);
  }
  std::vector<std::int64_t> too_many(2);
  EXPECT_THAT([&] { tokens.copy(7, too_many); },
              ThrowsMessage<InvalidArgument>(HasSubstr("7 to 9 must be within the 8")));
}

TEST_P(TokenShardsTest, BatchesHoldEveryTargetOnce) {
  const TokenShards tokens = shards({20, 13});
  PackedBatches batches(tokens, {.sequence_length = 5, .batch_size = 4, .seed = 7}, "text");
  EXPECT_EQ(batches.num_sequences(), 6);
  ASSERT_EQ(batches.batches_per_epoch(), 2);
  std::multiset<std::int64_t> targets;
  for (const std::int64_t index : {0, 1}) {
    const TokenBatch batch = batches.batch(0, index);
    EXPECT_EQ(batch.ids.size(0), index == 0 ? 4 : 2);
    EXPECT_EQ(batch.num_targets, batch.targets.numel());
    EXPECT_EQ(batch.num_tokens, batch.ids.numel());
    EXPECT_TRUE(at::equal(batch.ids + 1, batch.targets)) << "the next token";
    const auto* const data = batch.targets.data_ptr<std::int64_t>();
    targets.insert(data, data + batch.targets.numel());
  }
  std::multiset<std::int64_t> expected;
  for (std::int64_t id = 101; id <= 130; ++id) expected.insert(id);
  EXPECT_EQ(targets, expected);
}

TEST_P(TokenShardsTest, TheOrderFollowsFromSeedAndEpoch) {
  const TokenShards tokens = shards({200});
  const auto first_ids = [&](std::uint64_t seed, std::int64_t epoch) {
    PackedBatches batches(tokens, {.sequence_length = 4, .batch_size = 49, .seed = seed}, "text");
    return batches.batch(epoch, 0).ids;
  };
  EXPECT_TRUE(at::equal(first_ids(1, 3), first_ids(1, 3)));
  EXPECT_FALSE(at::equal(first_ids(1, 3), first_ids(1, 4)));
  EXPECT_FALSE(at::equal(first_ids(1, 3), first_ids(2, 3)));
}

TEST_P(TokenShardsTest, TooFewTokensAreAnError) {
  const TokenShards tokens = shards({5});
  EXPECT_THAT([&] { PackedBatches(tokens, {.sequence_length = 5}, "held-out text"); },
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("held-out text: must have at least 6 tokens, one sequence")));
}

INSTANTIATE_TEST_SUITE_P(Widths, TokenShardsTest, ::testing::Values(2, 4));

TEST(TokenShardFileTest, HoldsWholeIds) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "cut", "abc");
  const std::vector<std::filesystem::path> files = {folder / "cut"};
  EXPECT_THAT(
      [&] { TokenShards(files, 2); },
      ThrowsMessage<FormatError>(HasSubstr("must contain ids of 2 bytes each, got 3 bytes")));
}

}  // namespace
}  // namespace lime
