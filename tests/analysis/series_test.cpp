// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/series/series_inputs.h"
#include "analysis/series/turns.h"

namespace lime {
namespace {

/// Returns "maximum at 2 (0 to 4)" of each turn of `values` with intervals of +- `half`.
std::vector<std::string> turns_of(const std::vector<double>& values, double half) {
  std::vector<SeriesPoint> points;
  for (const double value : values) {
    points.push_back(
        {value, value - half, value + half, 10.0 * static_cast<double>(points.size())});
  }
  std::vector<std::string> texts;
  for (const Turn& turn : find_turns(points)) {
    texts.push_back(
        fmt::format("{} at {} ({} to {})", turn.kind, turn.at, turn.before, turn.after));
  }
  return texts;
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FindTurnsTest, FindsExtremesThatIntervalsSeparateOnBothSides) {
  EXPECT_THAT(turns_of({0, 1, 2, 3}, 0.1), IsEmpty());
  EXPECT_THAT(turns_of({0, 2, 3, 2, 0}, 0.1),
              ElementsAre("maximum at 2 (1 to 3)", "bend at 1 (0 to 2)"));
  EXPECT_THAT(turns_of({0, 2, 3, 2, 0}, 0.6), ElementsAre("maximum at 2 (0 to 4)"));
  EXPECT_THAT(turns_of({0, 2, 3, 2, 0}, 1.6), IsEmpty());
  EXPECT_THAT(turns_of({3, 2, 1.0, 1.1, 0.9, 2, 3}, 0.2),
              ElementsAre("minimum at 4 (1 to 5)", "bend at 2 (1 to 3)"));
}

TEST(FindTurnsTest, FindsTheClearestOtherChangeOfSlope) {
  // Changes of 0, 1, 0.1 and 0 per interval; the margin of three intervals of 0.3 is 0.735.
  EXPECT_THAT(turns_of({0, 1, 2, 4, 6.1, 8.2}, 0.3), ElementsAre("bend at 2 (1 to 3)"));
  EXPECT_THAT(turns_of({0, 1, 2, 4, 6.1, 8.2}, 0.5), IsEmpty());
}

TEST(FindTurnsTest, WithoutIntervalsFindsTheExtremesInside) {
  EXPECT_THAT(turns_of({1, 2, 5, 4, 0, 3}, 0.0),
              ElementsAre("minimum at 4 (3 to 5)", "maximum at 2 (1 to 3)"));
  EXPECT_THAT(turns_of({5, 2, 3, 6}, 0.0), ElementsAre("minimum at 1 (0 to 2)"));
  EXPECT_THAT(turns_of({1, 1, 1}, 0.0), IsEmpty());
  EXPECT_THAT(turns_of({1, 2}, 0.0), IsEmpty());
}

TEST(SplitStepTest, FindsTheStepInNames) {
  EXPECT_EQ(split_step("step-1000"), (ModelStep{"", 1000}));
  EXPECT_EQ(split_step("llama-step-1000"), (ModelStep{"llama", 1000}));
  EXPECT_EQ(split_step("pythia-160m_step143000"), (ModelStep{"pythia-160m", 143000}));
  EXPECT_EQ(split_step("checkpoint-20"), (ModelStep{"", 20}));
  EXPECT_EQ(split_step("global_step8 lime"), (ModelStep{"lime", 8}));
  EXPECT_EQ(split_step("step-0-lime"), (ModelStep{"lime", 0}));
  EXPECT_EQ(split_step("runs/lime/step-7"), (ModelStep{"runs/lime", 7}));
  EXPECT_EQ(split_step("lime"), std::nullopt);
  EXPECT_EQ(split_step("footstep"), std::nullopt);
}

}  // namespace
}  // namespace lime
