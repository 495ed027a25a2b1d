// SPDX-License-Identifier: Apache-2.0
// Captures that write several shards at the same time, as on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

#include "capture/capture_fixture.h"
#include "core/errors.h"
#include "store/capture_reader.h"
#include "store/capture_tools.h"

namespace lime {
namespace {

using ::testing::ElementsAre;
using testing::equal_bits;
using ::testing::HasSubstr;
using testing::kSmallShards;

CaptureTuning tuning_of(std::int64_t shards_at_once) {
  CaptureTuning tuning = kSmallShards;
  tuning.shards_at_once = shards_at_once;
  return tuning;
}

class ShardsAtOnceTest : public testing::CaptureTest {
 protected:
  ShardsAtOnceTest() {
    testing::write_text(folder_ / "text.txt", testing::tiny_text(400));
    options_.batch_size = 6;
  }

  CaptureReader capture_as(const std::string& name, std::int64_t shards_at_once) {
    options_.output = folder_ / name;
    return capture(tuning_of(shards_at_once));
  }

  int shards_of(std::int64_t shards_at_once) {
    options_.output = folder_ / "planned.h5";
    std::filesystem::remove(options_.output);
    std::filesystem::remove_all(folder_ / "planned.shards");
    int found = 0;
    const CaptureCallbacks noting{
        .on_start = [&](const CapturePreview& preview) { found = preview.num_shards; }};
    run_capture(options_, noting, {}, tuning_of(shards_at_once));
    return found;
  }

  /// Other sequences share a pass, which changes how sums are rounded.
  static void expect_close(const CaptureReader& found, const CaptureReader& expected) {
    ASSERT_EQ(found.num_rows(), expected.num_rows());
    EXPECT_EQ(found.rows().token, expected.rows().token);
    EXPECT_EQ(found.rows().sequence, expected.rows().sequence);
    EXPECT_EQ(found.rows().position, expected.rows().position);
    EXPECT_EQ(found.offsets(), expected.offsets());
    ASSERT_EQ(found.sites(), expected.sites());
    for (const std::string& site : expected.sites()) {
      for (const int layer : expected.layers(site)) {
        SCOPED_TRACE(site + " " + std::to_string(layer));
        const MatrixF rows = expected.read_all(site, layer);
        EXPECT_LT((found.read_all(site, layer) - rows).cwiseAbs().maxCoeff(),
                  1e-5F * rows.cwiseAbs().maxCoeff());
        if (!expected.has_statistics(site, layer)) continue;
        const RunningStatistics a = found.statistics(site, layer);
        const RunningStatistics b = expected.statistics(site, layer);
        EXPECT_EQ(a.count, b.count);
        EXPECT_TRUE(a.m2.isApprox(b.m2, 1e-5));
      }
    }
    for (std::size_t s = 0; s < expected.sequences().size(); ++s) {
      const double score = expected.sequences()[s].log_likelihood;
      if (std::isnan(score)) continue;
      EXPECT_NEAR(found.sequences()[s].log_likelihood, score, 1e-5 * std::abs(score)) << s;
    }
    EXPECT_THAT(verify_capture(found.path()), ElementsAre());
  }

  void expect_same_for_any_number() {
    const CaptureReader expected = capture_as("one.h5", 1);
    for (const std::int64_t count : {2, 3, 6}) {
      SCOPED_TRACE(count);
      expect_close(capture_as(std::to_string(count) + ".h5", count), expected);
    }
  }
};

TEST_F(ShardsAtOnceTest, StoreTheSame) { expect_same_for_any_number(); }

TEST_F(ShardsAtOnceTest, StoreTheSameWhatRunsAhead) {
  options_.device = "cpu,cpu";  // as a GPU: activations are kept and written without a copy
  expect_same_for_any_number();
}

TEST_F(ShardsAtOnceTest, StoreTheSameOfSequencesOfDifferentLengths) {
  std::string lines;
  for (int i = 0; i < 41; ++i) lines += testing::tiny_text(1 + i * 5 % 13) + "\n";
  testing::write_text(folder_ / "lines.txt", lines);
  options_.text = {};
  options_.seq_len = std::nullopt;
  options_.lines = {folder_ / "lines.txt"};
  expect_same_for_any_number();
}

TEST_F(ShardsAtOnceTest, StoreTheSameScoresAndLenses) {
  options_.sites = {"hidden", "logit_lens"};
  options_.log_likelihood = true;
  expect_same_for_any_number();
}

TEST_F(ShardsAtOnceTest, StoreTheSameChosenTokens) {
  options_.only = {" is", " was"};
  options_.compress = Compression::kDeflate;
  expect_same_for_any_number();
}

class ResumedShardsAtOnceTest : public ShardsAtOnceTest {
 protected:
  ResumedShardsAtOnceTest() : expected_(capture_as("whole.h5", 3)) {
    options_.output = folder_ / "resumed.h5";
  }

  /// Resumes without the tuning, as on another device.
  void expect_equal_bits_after_resuming() {
    options_.resume = true;
    const CaptureResult rest = run_capture(options_, {}, {}, kSmallShards);
    EXPECT_TRUE(rest.complete);
    EXPECT_LT(rest.num_tokens, expected_.num_rows()) << "finished rounds are not computed again";
    const CaptureReader resumed(options_.output);
    EXPECT_EQ(resumed.info().extra["shards_at_once"], 3);
    for (const char* const site : {"values", "hidden"}) {
      for (int layer = 0; layer < 3; ++layer) {
        EXPECT_TRUE(equal_bits(resumed.read_all(site, layer), expected_.read_all(site, layer)));
        EXPECT_EQ(resumed.statistics(site, layer).mean, expected_.statistics(site, layer).mean);
      }
    }
    EXPECT_THAT(verify_capture(options_.output), ElementsAre());
  }

  CaptureReader expected_;
};

TEST_F(ResumedShardsAtOnceTest, AfterAnInterruption) {
  std::stop_source stop;
  const CaptureCallbacks stopping{.on_progress = [&](const Progress& progress) {
    if (progress.done >= 700) stop.request_stop();
  }};
  EXPECT_THROW(run_capture(options_, stopping, stop.get_token(), tuning_of(3)), Interrupted);
  expect_equal_bits_after_resuming();
}

TEST_F(ResumedShardsAtOnceTest, WithFinishedShardsInARound) {
  capture(tuning_of(3));
  std::filesystem::remove(options_.output);
  for (const char* const lost : {"00001", "00005"}) {
    for (const char* const ending : {".h5", ".json"}) {
      EXPECT_TRUE(
          std::filesystem::remove(folder_ / "resumed.shards" / (std::string(lost) + ending)));
    }
  }
  expect_equal_bits_after_resuming();
}

TEST_F(ShardsAtOnceTest, AreShardsOfSimilarSizeInWholeRounds) {
  const int alone = shards_of(1);
  EXPECT_GT(alone, 3);
  for (const int count : {2, 3}) {
    const int planned = shards_of(count);
    EXPECT_GE(planned, alone);
    EXPECT_EQ(planned % count, 0) << count;
  }
}

/// Edits and pooled rows depend on which sequences share a pass.
TEST_F(ShardsAtOnceTest, LeaveOtherPassesAsTheyAre) {
  options_.rows = RowKind::kMean;
  EXPECT_EQ(shards_of(3), shards_of(1));
  options_.rows = RowKind::kTokens;
  options_.edit = {"zero hook_mlp_out layers=1"};
  EXPECT_EQ(shards_of(3), shards_of(1));
  options_.edit = {};
  ASSERT_NE(shards_of(3), shards_of(1)) << "without them the shards are other ones";
  options_.batch_size = 5;
  EXPECT_EQ(shards_of(3), shards_of(1)) << "5 sequences are not a multiple of 2 or 3";
}

TEST_F(ShardsAtOnceTest, LeaveNothingHalfWrittenIfOneFails) {
  options_.store = StorageType::kFloat16;
  std::filesystem::remove_all(folder_ / "model");
  testing::write_tiny_checkpoint(folder_ / "model", testing::tiny_config(), 60.0);
  EXPECT_THAT(testing::refusal_of([&] { run_capture(options_, {}, {}, tuning_of(3)); }),
              HasSubstr("to be stored as float16"));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "capture.shards")) {
    EXPECT_EQ(entry.path().filename(), "manifest.json");
  }
}

}  // namespace
}  // namespace lime
