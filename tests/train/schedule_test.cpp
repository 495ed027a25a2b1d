// SPDX-License-Identifier: Apache-2.0
#include "train/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/errors.h"

namespace lime {
namespace {

using ::testing::ThrowsMessage;

TEST(ScheduleTest, RisesLinearlyToThePeak) {
  const ScheduleOptions options = {.warmup_steps = 4};
  EXPECT_DOUBLE_EQ(learning_rate_fraction(options, 0, 100), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate_fraction(options, 3, 100), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_fraction(options, 4, 100), 1.0);
}

TEST(ScheduleTest, FallsToItsFloorWithoutAWastedStep) {
  for (const ScheduleKind kind : {ScheduleKind::kLinear, ScheduleKind::kCosine}) {
    const ScheduleOptions options = {
        .schedule = kind, .warmup_steps = 10, .final_learning_rate = 0.1};
    double before = 1.1;
    for (std::int64_t step = 10; step < 110; ++step) {
      const double fraction = learning_rate_fraction(options, step, 110);
      EXPECT_LT(fraction, before);
      EXPECT_GT(fraction, 0.1);
      before = fraction;
    }
    EXPECT_NEAR(learning_rate_fraction(options, 60, 110), 0.55, 1e-12);
    EXPECT_NEAR(learning_rate_fraction(options, 110, 110), 0.1, 1e-12);
  }
}

TEST(ScheduleTest, StaysAtThePeakUntilTheDecay) {
  const ScheduleOptions options = {.schedule = ScheduleKind::kWarmupStableDecay,
                                   .warmup_steps = 10,
                                   .decay_fraction = 0.25,
                                   .final_learning_rate = 0.2};
  EXPECT_DOUBLE_EQ(learning_rate_fraction(options, 4, 200), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate_fraction(options, 10, 200), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_fraction(options, 150, 200), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_fraction(options, 175, 200), 0.6);
  EXPECT_DOUBLE_EQ(learning_rate_fraction(options, 200, 200), 0.2);
}

TEST(ScheduleTest, StaysAtThePeakWhereItIsConstant) {
  const ScheduleOptions options = {.schedule = ScheduleKind::kConstant, .warmup_steps = 0};
  EXPECT_DOUBLE_EQ(learning_rate_fraction(options, 0, 10), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate_fraction(options, 9, 10), 1.0);
}

TEST(ScheduleTest, NamesTheFieldOutOfRange) {
  EXPECT_THAT([] { ScheduleOptions{.warmup_steps = -1}.validate(); },
              ThrowsMessage<InvalidArgument>("warmup_steps: must be >= 0, got -1"));
  EXPECT_THAT([] { ScheduleOptions{.final_learning_rate = 1.5}.validate(); },
              ThrowsMessage<InvalidArgument>("final_learning_rate: must be from 0 to 1, got 1.5"));
}

}  // namespace
}  // namespace lime
