// SPDX-License-Identifier: Apache-2.0
#include "capture/window_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace lime {
namespace {

using ::testing::ElementsAre;

/// Creates sequences of these lengths; ids are 7, 7, ... except for the last one of each, `last`.
CaptureInput input_of(const std::vector<int>& lengths, const std::vector<int>& last) {
  CaptureInput input;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(lengths[i]), 7);
    ids.back() = last[i];
    input.add({}, ids, {});
  }
  return input;
}

TEST(PlanWindowsTest, OfTokensAreTheBatchesInOrder) {
  const CaptureInput input = input_of({3, 1, 2, 2, 5}, {1, 2, 3, 4, 5});
  const auto windows = plan_windows(input, {1, 4}, {.batch_size = 3});
  ASSERT_EQ(windows.size(), 2U);
  EXPECT_EQ(windows[0].range, (SequenceRange{1, 3}));
  EXPECT_THAT(windows[0].batches, ElementsAre(ElementsAre(1, 2, 3)));
  EXPECT_THAT(windows[1].batches, ElementsAre(ElementsAre(4)));
}

TEST(PlanWindowsTest, GatherSequencesOfLikeLength) {
  const CaptureInput input = input_of({9, 2, 8, 3, 9, 2}, {1, 2, 3, 4, 5, 6});
  const auto windows =
      plan_windows(input, {0, 6}, {.batch_size = 2, .sorts_by_length = true, .sequences = 100});
  ASSERT_EQ(windows.size(), 1U);
  EXPECT_THAT(windows[0].batches,
              ElementsAre(ElementsAre(1, 5), ElementsAre(3, 2), ElementsAre(0, 4)));
}

TEST(PlanWindowsTest, FillPassesUpToTheTokens) {
  const CaptureInput input = input_of({1, 1, 1, 1, 1, 6, 6, 6}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto windows = plan_windows(
      input, {0, 8}, {.batch_size = 2, .sorts_by_length = true, .sequences = 100, .tokens = 12});
  EXPECT_THAT(windows[0].batches,
              ElementsAre(ElementsAre(0, 1, 2, 3, 4), ElementsAre(5, 6), ElementsAre(7)));
}

/// A padded pass has the angles of its longest sequence.
TEST(PlanWindowsTest, SeparateSequencesThatAreRotatedDifferently) {
  const CaptureInput input = input_of({9, 3, 4, 12, 9, 8}, {1, 2, 3, 4, 5, 6});
  const RopeSpec dynamic{
      .kind = RopeKind::kDynamic, .factor = 2.0, .original_max_position_embeddings = 8};
  const RopeSpec longrope{.kind = RopeKind::kLongRope, .original_max_position_embeddings = 8};
  const auto in_order = [&](const RopeSpec& rope) {
    std::vector<std::vector<std::int64_t>> batches;
    for (const auto& window : plan_windows(input, {0, 6}, {.batch_size = 4, .ropes = {{}, rope}})) {
      EXPECT_EQ(window.batches.size(), 1U) << "rows are written in the order of the passes";
      EXPECT_EQ(window.range.first, window.batches.front().front());
      EXPECT_EQ(window.range.count, std::ssize(window.batches.front()));
      batches.push_back(window.batches.front());
    }
    return batches;
  };
  EXPECT_THAT(in_order({}), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5)));
  EXPECT_THAT(in_order(longrope),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2), ElementsAre(3, 4), ElementsAre(5)));
  EXPECT_THAT(in_order(dynamic), ElementsAre(ElementsAre(0), ElementsAre(1, 2), ElementsAre(3),
                                             ElementsAre(4), ElementsAre(5)));
  const auto sorted = [&](const RopeSpec& rope) {
    const WindowLimits limits{
        .batch_size = 4, .sorts_by_length = true, .ropes = {rope}, .sequences = 100};
    return plan_windows(input, {0, 6}, limits).front().batches;
  };
  EXPECT_THAT(sorted(longrope), ElementsAre(ElementsAre(1, 2, 5), ElementsAre(0, 4, 3)));
  EXPECT_THAT(sorted(dynamic),
              ElementsAre(ElementsAre(1, 2, 5), ElementsAre(0, 4), ElementsAre(3)));
}

TEST(PlanWindowsTest, HoldEverySequenceOnce) {
  std::vector<int> lengths;
  std::vector<int> last;
  for (int i = 0; i < 97; ++i) {
    lengths.push_back(1 + (i * 37) % 23);
    last.push_back(i);
  }
  const CaptureInput input = input_of(lengths, last);
  std::set<std::int64_t> seen;
  for (const auto& window :
       plan_windows(input, {10, 80},
                    {.batch_size = 4, .sorts_by_length = true, .sequences = 32, .tokens = 64})) {
    for (const auto& batch : window.batches) {
      for (const std::int64_t s : batch) {
        EXPECT_TRUE(seen.insert(s).second) << s;
        EXPECT_GE(s, window.range.first);
        EXPECT_LT(s, window.range.first + window.range.count);
      }
    }
  }
  EXPECT_EQ(seen.size(), 80U);
  EXPECT_EQ(*seen.begin(), 10);
}

TEST(PlanWindowsTest, NameTheFirstOfEqualSequences) {
  const CaptureInput input = input_of({2, 3, 2, 2}, {1, 1, 1, 9});
  const auto windows =
      plan_windows(input, {0, 4}, {.batch_size = 4, .sorts_by_length = true, .sequences = 4});
  EXPECT_THAT(windows[0].duplicate_of, ElementsAre(0, 1, 0, 3));
}

}  // namespace
}  // namespace lime
