// SPDX-License-Identifier: Apache-2.0
#include "core/progress.h"

#include <gtest/gtest.h>

namespace lime {
namespace {

TEST(HumanTest, ShortensCountsBytesAndDurations) {
  EXPECT_EQ(human_count(0), "0");
  EXPECT_EQ(human_count(999), "999");
  EXPECT_EQ(human_count(1234567), "1.23 M");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(75.0 * 1024 * 1024 * 1024), "75 GiB");
  EXPECT_EQ(human_duration(42.4), "42 s");
  EXPECT_EQ(human_duration(61), "1 min 01 s");
  EXPECT_EQ(human_duration(3725), "1 h 02 min");
}

TEST(ProgressLineTest, PrintsPlainLinesWhereThereIsNoTerminal) {
  ::testing::internal::CaptureStderr();
  {
    ProgressLine line({.label = "work", .unit = "items", .log_interval = std::chrono::seconds(0)});
    line.update({.done = 5, .total = 10, .note = "layer 7"});
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(text.starts_with("work: 5 of 10 items, ")) << text;
  EXPECT_TRUE(text.ends_with(", layer 7\n")) << text;
}

TEST(ProgressLineTest, QuietPrintsNothing) {
  ::testing::internal::CaptureStderr();
  {
    ProgressLine line(
        {.label = "work", .unit = "items", .quiet = true, .log_interval = std::chrono::seconds(0)});
    line.callback()({.done = 5, .total = 10, .note = ""});
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace lime
