// SPDX-License-Identifier: Apache-2.0
// Captures made by several processes or several runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stop_token>

#include "capture/capture_fixture.h"
#include "core/errors.h"
#include "store/capture_reader.h"

namespace lime {
namespace {

using testing::CaptureTest;
using testing::equal_bits;
using ::testing::HasSubstr;
using testing::kSmallShards;

void expect_equal_captures(const CaptureReader& a, const CaptureReader& b) {
  ASSERT_EQ(a.num_rows(), b.num_rows());
  EXPECT_EQ(a.rows().token, b.rows().token);
  EXPECT_EQ(a.rows().sequence, b.rows().sequence);
  EXPECT_EQ(a.offsets(), b.offsets());
  for (const char* const site : {"values", "hidden"}) {
    for (int layer = 0; layer < 3; ++layer) {
      EXPECT_TRUE(equal_bits(a.read_all(site, layer), b.read_all(site, layer)));
      EXPECT_EQ(a.statistics(site, layer).mean, b.statistics(site, layer).mean);
      EXPECT_EQ(a.statistics(site, layer).m2, b.statistics(site, layer).m2);
    }
  }
}

TEST_F(CaptureTest, ShardsOfSeveralProcessesMakeTheSameCapture) {
  options_.output = folder_ / "single.h5";
  const CaptureReader single = capture();
  options_.output = folder_ / "shared.h5";
  options_.shard = WorkShare{1, 2};
  EXPECT_FALSE(run_capture(options_, {}, {}, kSmallShards).complete);
  EXPECT_FALSE(std::filesystem::exists(options_.output));
  options_.shard = WorkShare{0, 2};
  EXPECT_TRUE(run_capture(options_, {}, {}, kSmallShards).complete);
  expect_equal_captures(CaptureReader(options_.output), single);
}

TEST_F(CaptureTest, InterruptedRunsGoOnWithEqualBits) {
  options_.output = folder_ / "single.h5";
  const CaptureReader single = capture();
  options_.output = folder_ / "resumed.h5";
  std::stop_source stop;
  const CaptureCallbacks stopping{.on_progress = [&](const Progress& progress) {
    if (progress.done >= 300) stop.request_stop();
  }};
  try {
    run_capture(options_, stopping, stop.get_token(), kSmallShards);
    FAIL() << "was not interrupted";
  } catch (const Interrupted& error) {
    EXPECT_THAT(error.what(), HasSubstr("the same command with --resume resumes"));
  }
  {
    const CaptureReader partial(options_.output);
    EXPECT_FALSE(partial.complete());
    EXPECT_GT(partial.num_rows(), 0);
    EXPECT_TRUE(equal_bits(partial.read_all("hidden", 1),
                           single.read_rows("hidden", 1, 0, partial.num_rows())));
  }
  EXPECT_THAT(refusal(), HasSubstr("already exists; use --resume to continue"));
  options_.resume = true;
  const CaptureResult result = run_capture(options_, {}, {}, kSmallShards);
  EXPECT_TRUE(result.complete);
  EXPECT_LE(result.writer_waited_seconds, result.seconds) << "the wait is part of the run";
  EXPECT_LT(result.num_tokens, single.num_rows()) << "finished shards are not computed again";
  expect_equal_captures(CaptureReader(options_.output), single);
  EXPECT_EQ(run_capture(options_, {}, {}, kSmallShards).num_tokens, 0) << "nothing is left";
}

/// The first run may have selected its passes by a memory limit, or by --batch-size.
TEST_F(CaptureTest, GoesOnWithThePassesItWasBegunWith) {
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += testing::tiny_text(1 + i % 7) + "\n";
  testing::write_text(folder_ / "lines.txt", lines);
  options_.text = {};
  options_.seq_len = std::nullopt;
  options_.lines = {folder_ / "lines.txt"};
  options_.rows = RowKind::kMean;
  options_.output = folder_ / "single.h5";
  const CaptureReader single = capture();
  ASSERT_EQ(single.info().options["batch_size"], 3);

  options_.output = folder_ / "resumed.h5";
  options_.shard = WorkShare{0, 2};
  EXPECT_FALSE(run_capture(options_, {}, {}, kSmallShards).complete);
  options_.shard = std::nullopt;
  options_.resume = true;
  options_.batch_size = std::nullopt;
  EXPECT_TRUE(run_capture(options_, {}, {}, kSmallShards).complete);
  const CaptureReader resumed(options_.output);
  EXPECT_EQ(resumed.info().options, single.info().options);
  expect_equal_captures(resumed, single);

  options_.batch_size = 4;
  EXPECT_THAT(refusal(), HasSubstr("options.batch_size was 3, now 4"));
}

TEST_F(CaptureTest, RefusesToResumeWithOtherOptions) {
  run_capture(options_, {}, {}, kSmallShards);
  options_.resume = true;
  options_.dtype = ComputeType::kFloat64;
  EXPECT_THAT(refusal(), HasSubstr("was started with different options"));
}

}  // namespace
}  // namespace lime
