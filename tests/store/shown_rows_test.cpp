// SPDX-License-Identifier: Apache-2.0
#include "store/shown_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <tuple>
#include <vector>

namespace lime {
namespace {

using ::testing::ElementsAre;
using Runs = std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

Runs runs_of(const ShownRows& rows, std::int64_t first, std::int64_t count) {
  Runs runs;
  rows.for_runs(first, count, [&](std::int64_t offset, std::int64_t stored, std::int64_t number) {
    runs.emplace_back(offset, stored, number);
  });
  return runs;
}

TEST(ShownRowsTest, ShowsAllRowsAtFirst) {
  const std::vector<std::int64_t> stored = {0, 3, 5};
  const ShownRows rows(stored);
  EXPECT_FALSE(rows.hides_any());
  EXPECT_EQ(rows.offsets(), stored);
  EXPECT_EQ(runs_of(rows, 1, 3), (Runs{{0, 1, 3}}));
  EXPECT_EQ(runs_of(rows, 1, 0), Runs{});
}

TEST(ShownRowsTest, HidesRowsAndThenOthersOfThoseShown) {
  const std::vector<std::int64_t> stored = {0, 3, 5};
  ShownRows rows(stored);
  rows.hide({true, false, false, false, true});
  EXPECT_TRUE(rows.hides_any());
  EXPECT_THAT(rows.offsets(), ElementsAre(0, 2, 3));
  EXPECT_EQ(runs_of(rows, 0, 3), (Runs{{0, 1, 3}}));
  rows.hide({false, true, false});  // stored row 2
  EXPECT_THAT(rows.offsets(), ElementsAre(0, 1, 2));
  EXPECT_EQ(runs_of(rows, 0, 2), (Runs{{0, 1, 1}, {1, 3, 1}}));
  EXPECT_EQ(runs_of(rows, 1, 1), (Runs{{0, 3, 1}}));
  std::vector<int> column = {10, 11, 12, 13, 14};
  rows.keep_shown(column);
  EXPECT_THAT(column, ElementsAre(11, 13));
}

TEST(ShownRowsTest, HiddenSequencesHaveNoOffsets) {
  const std::vector<std::int64_t> stored = {0, 2, 5, 6};
  ShownRows rows(stored);
  rows.hide_sequences({false, true, false});
  EXPECT_THAT(rows.offsets(), ElementsAre(0, 2, 3));
  EXPECT_EQ(runs_of(rows, 0, 3), (Runs{{0, 0, 2}, {2, 5, 1}}));
}

}  // namespace
}  // namespace lime
