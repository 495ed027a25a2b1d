// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/errors.h"
#include "model/passes/output_head.h"
#include "train/batch_source.h"
#include "train/sequence_batches.h"

namespace lime {
namespace {

using ::testing::ThrowsMessage;

constexpr std::int32_t kPad = 0;

/// Returns `count` sequences; the i-th is 1000 + i, then i % 7 + 1 tokens.
std::vector<TokenSequence> sequences(int count) {
  std::vector<TokenSequence> all;
  for (int i = 0; i < count; ++i) {
    TokenSequence sequence;
    sequence.ids = {1000 + i};
    for (int t = 0; t <= i % 7; ++t) sequence.ids.push_back(t + 1);
    all.push_back(sequence);
  }
  return all;
}

std::multiset<std::int64_t> first_tokens(SequenceBatches& batches, std::int64_t epoch) {
  std::multiset<std::int64_t> firsts;
  for (std::int64_t i = 0; i < batches.batches_per_epoch(); ++i) {
    const TokenBatch batch = batches.batch(epoch, i);
    for (std::int64_t row = 0; row < batch.ids.size(0); ++row) {
      firsts.insert(batch.ids[row][0].item<std::int64_t>());
    }
  }
  return firsts;
}

TEST(SequenceBatchesTest, ShiftsTargetsAndIgnoresPaddingAndPrompt) {
  SequenceBatches batches({{{5, 6, 7, 8}, 2}, {{9, 4}, 1}},
                          {.batch_size = 2, .pad_id = kPad, .shuffle = false});
  const TokenBatch batch = batches.batch(0, 0);
  const std::int64_t none = kIgnoredTarget;
  EXPECT_TRUE(at::equal(batch.ids, at::tensor({9, 0, 0, 5, 6, 7}, at::kLong).view({2, 3})));
  EXPECT_TRUE(at::equal(
      batch.targets,
      at::tensor({std::int64_t{4}, none, none, none, std::int64_t{7}, std::int64_t{8}}, at::kLong)
          .view({2, 3})));
  EXPECT_EQ(batch.num_targets, 3);
  EXPECT_EQ(batch.num_tokens, 4);
}

TEST(SequenceBatchesTest, EveryEpochHasEverySequenceOnce) {
  SequenceBatches batches(sequences(101), {.batch_size = 8, .seed = 4});
  EXPECT_EQ(batches.batches_per_epoch(), 13);
  const auto firsts = first_tokens(batches, 2);
  EXPECT_EQ(firsts.size(), 101U);
  EXPECT_EQ(std::set<std::int64_t>(firsts.begin(), firsts.end()).size(), 101U);
}

TEST(SequenceBatchesTest, IsTheSameWheneverItIsAskedFor) {
  SequenceBatches in_order(sequences(50), {.batch_size = 4, .seed = 9});
  SequenceBatches at_once(sequences(50), {.batch_size = 4, .seed = 9});
  first_tokens(in_order, 0);
  first_tokens(in_order, 1);
  EXPECT_TRUE(at::equal(in_order.batch(5, 3).ids, at_once.batch(5, 3).ids));
  SequenceBatches other_seed(sequences(50), {.batch_size = 4, .seed = 10});
  EXPECT_FALSE(at::equal(other_seed.batch(5, 3).ids, at_once.batch(5, 3).ids));
}

TEST(SequenceBatchesTest, PutsSequencesOfSimilarLengthTogether) {
  SequenceBatches batches(sequences(700), {.batch_size = 10, .seed = 1});
  std::int64_t padding = 0;
  std::int64_t all = 0;
  for (std::int64_t i = 0; i < batches.batches_per_epoch(); ++i) {
    const TokenBatch batch = batches.batch(0, i);
    padding += batch.ids.eq(kPad).sum().item<std::int64_t>();
    all += batch.ids.numel();
  }
  EXPECT_LT(padding, all / 20);
}

TEST(SequenceBatchesTest, NamesTheSequenceWithoutATarget) {
  EXPECT_THAT(
      [] {
        SequenceBatches({{{1, 2}, 1}, {{3, 4}, 2}}, {});
      },
      ThrowsMessage<InvalidArgument>("training data: sequence 1 of 2 tokens must have a target "
                                     "after its first token, got the first one at 2"));
  EXPECT_THAT(
      [] { SequenceBatches({}, {}); },
      ThrowsMessage<InvalidArgument>("training data: at least one sequence is needed, got none"));
}

}  // namespace
}  // namespace lime
