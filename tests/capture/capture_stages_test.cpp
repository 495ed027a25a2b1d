// SPDX-License-Identifier: Apache-2.0
// Captures of models whose layers are split over several devices: here the CPU, several times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "capture/capture_fixture.h"
#include "checkpoint/parse_model_config.h"
#include "core/errors.h"
#include "store/capture_reader.h"

namespace lime {
namespace {

using ::testing::AllOf;
using testing::CaptureTest;
using testing::equal_bits;
using ::testing::HasSubstr;
using testing::kSmallShards;

void expect_equal_measurements(const CaptureReader& found, const CaptureReader& expected) {
  ASSERT_EQ(found.num_rows(), expected.num_rows());
  EXPECT_EQ(found.rows().token, expected.rows().token);
  EXPECT_EQ(found.sites(), expected.sites());
  for (const std::string& site : expected.sites()) {
    EXPECT_EQ(found.layers(site), expected.layers(site));
    for (const int layer : expected.layers(site)) {
      EXPECT_TRUE(equal_bits(found.read_all(site, layer), expected.read_all(site, layer)))
          << site << " " << layer;
    }
  }
  for (const std::string site : {"keys", "values", "hidden"}) {
    for (int layer = 0; layer < 5; ++layer) {
      ASSERT_EQ(found.has_statistics(site, layer), expected.has_statistics(site, layer));
      if (!expected.has_statistics(site, layer)) continue;
      EXPECT_EQ(found.statistics(site, layer).mean, expected.statistics(site, layer).mean);
      EXPECT_EQ(found.statistics(site, layer).m2, expected.statistics(site, layer).m2);
    }
  }
  for (std::size_t s = 0; s < expected.sequences().size(); ++s) {
    const double score = expected.sequences()[s].log_likelihood;
    if (std::isnan(score)) continue;
    EXPECT_EQ(found.sequences()[s].log_likelihood, score) << s;
  }
}

class StagedCaptureTest : public CaptureTest {
 protected:
  StagedCaptureTest() { use(layered_config("llama")); }

  static ModelConfig layered_config(const std::string& decoder) {
    return testing::tiny_config(decoder, 5);
  }

  void use(const ModelConfig& config) {
    std::filesystem::remove_all(folder_ / "model");
    testing::write_tiny_checkpoint(folder_ / "model", config);
  }

  /// Expects the same capture on one device and on several.
  void expect_same_on_every_device() {
    const auto on = [&](const std::string& device) {
      options_.device = device;
      options_.output = folder_ / (device + ".h5");
      std::filesystem::remove(options_.output);
      std::filesystem::remove_all(
          std::filesystem::path(options_.output).replace_extension(".shards"));
      return capture();
    };
    const CaptureReader expected = on("cpu");
    for (const char* const devices : {"cpu,cpu", "cpu,cpu,cpu"}) {
      SCOPED_TRACE(devices);
      expect_equal_measurements(on(devices), expected);
    }
  }

  std::string refusal_of(const std::string& device) {
    options_.device = device;
    return refusal();
  }
};

TEST_F(StagedCaptureTest, EveryDecoderIsCapturedTheSame) {
  for (const std::string& kind : decoder_names()) {
    SCOPED_TRACE(kind);
    use(layered_config(kind));
    expect_same_on_every_device();
  }
}

TEST_F(StagedCaptureTest, EveryRouterIsCapturedTheSame) {
  options_.sites = {"values", "routed_values", "hidden"};
  for (const LimeConfig& router :
       {LimeConfig{.router = RouterKind::kFirst, .j = 2},
        LimeConfig{.router = RouterKind::kLast, .j = 2},
        LimeConfig{.router = RouterKind::kDilated, .j = 2}, LimeConfig{.per_dimension = true},
        LimeConfig{.dynamic = true}}) {
    SCOPED_TRACE(enum_name(router.router));
    ModelConfig config = layered_config("lime");
    config.lime = router;
    use(config);
    expect_same_on_every_device();
  }
}

TEST_F(StagedCaptureTest, PooledRowsPatternsChosenTokensAndScoresAreTheSame) {
  options_.rows = RowKind::kMean;
  expect_same_on_every_device();
  options_.rows = RowKind::kTokens;
  options_.sites = {"attn.hook_pattern", "hidden"};
  options_.log_likelihood = true;
  expect_same_on_every_device();
  options_.sites = {};
  options_.log_likelihood = false;
  options_.only = {" is", " was"};
  options_.layers = LayerSelection::parse("1");
  expect_same_on_every_device();
}

TEST_F(StagedCaptureTest, OtherArithmeticIsTheSame) {
  options_.dtype = ComputeType::kBfloat16;
  expect_same_on_every_device();
}

TEST_F(StagedCaptureTest, SaysWhichLayersLieWhere) {
  options_.device = "cpu,cpu";
  std::vector<CapturePreview::Stage> stages;
  run_capture(options_,
              {.on_start = [&](const CapturePreview& preview) { stages = preview.stages; }});
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].device, "cpu");
  EXPECT_EQ(stages[0].first_layer, 0);
  EXPECT_EQ(stages[1].first_layer, stages[0].last_layer + 1);
  EXPECT_EQ(stages[1].last_layer, 4);
  EXPECT_GT(stages[1].weight_bytes, 0);
}

TEST_F(StagedCaptureTest, InterruptedRunsGoOnWithEqualBits) {
  options_.device = "cpu,cpu";
  options_.output = folder_ / "single.h5";
  const CaptureReader single = capture();
  options_.output = folder_ / "resumed.h5";
  std::stop_source stop;
  const CaptureCallbacks stopping{.on_progress = [&](const Progress& progress) {
    if (progress.done >= 300) stop.request_stop();
  }};
  EXPECT_THROW(run_capture(options_, stopping, stop.get_token(), kSmallShards), Interrupted);
  EXPECT_FALSE(CaptureReader(options_.output).complete());
  options_.resume = true;
  expect_equal_measurements(capture(), single);
}

TEST_F(StagedCaptureTest, ErrorsOfAnyThreadAreOneLine) {
  testing::write_tiny_checkpoint(folder_ / "huge", testing::tiny_config(), 1e18);
  options_.checkpoint = folder_ / "huge";
  EXPECT_THAT(refusal_of("cpu,cpu"), AllOf(HasSubstr("capture: blocks.0."),
                                           HasSubstr("must be finite, but is not in sequences 0")));
  testing::write_tiny_checkpoint(folder_ / "loud", testing::tiny_config(), 60.0);
  options_.checkpoint = folder_ / "loud";
  options_.store = StorageType::kFloat16;
  EXPECT_THAT(refusal_of("cpu,cpu,cpu"), HasSubstr("to be stored as float16"));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST_F(StagedCaptureTest, UnfitDevicesAreRefusedBeforeAnythingIsRead) {
  EXPECT_EQ(refusal_of("cpu,cpu,cpu,cpu,cpu,cpu"),
            "device: cannot split 5 layers among 6 devices, each device needs one; use 5 or fewer");
  EXPECT_THAT(refusal_of("cpu,cuda:0"),
              HasSubstr("several devices must all be GPUs, or all the CPU"));
  EXPECT_THAT(refusal_of("cuda:0,cuda:0"), HasSubstr("got 'cuda:0' twice"));
  EXPECT_THAT(refusal_of("cpu,tpu"), HasSubstr("got 'tpu' in 'cpu,tpu'"));
  EXPECT_THAT(refusal_of("cuda:98,cuda:99"), HasSubstr("'cuda:98' does not exist"));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST_F(StagedCaptureTest, TheMemoryLimitHoldsForThem) {
  options_.device = "cpu,cpu";
  options_.memory_limit = ByteSize{std::int64_t{10} << 20};
  EXPECT_THAT(refusal(), HasSubstr("memory_limit: 10M is too little"));
}

TEST_F(StagedCaptureTest, FindsABatchForThem) {
  options_.device = "cpu,cpu";
  options_.batch_size = BatchSize::automatic();
  CaptureTuning tuning = kSmallShards;
  tuning.tries_batches = true;
  const CaptureReader reader = capture(tuning);
  EXPECT_EQ(reader.info().options["batch_size"],
            static_cast<std::int64_t>(reader.sequences().size()));
}

}  // namespace
}  // namespace lime
