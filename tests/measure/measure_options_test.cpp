// SPDX-License-Identifier: Apache-2.0
#include "measure/measure_options.h"

#include <gtest/gtest.h>

#include "measure/measure_fixture.h"

namespace lime {
namespace {

using testing::refusal_of;

TEST(MeasureOptionsTest, ReadsMeasurementsWithTheirOptions) {
  const std::vector<MeasureRequest> requests =
      parse_measurements({"entropy,lens skip-tokens=1", "geometry measure=rank,curvature"});
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].metric, "entropy");
  EXPECT_EQ(requests[1].metric, "lens");
  EXPECT_EQ(requests[1].options.front(), std::pair(std::string("skip_tokens"), std::string("1")));
  EXPECT_EQ(requests[2].options.front().second, "rank,curvature");
}

TEST(MeasureOptionsTest, RefusesTextsThatAreNoMeasurements) {
  EXPECT_EQ(refusal_of([] { parse_measurements({"entropie"}); }),
            "measure: unknown measurement 'entropie' (supported: entropy, geometry, attention, "
            "lens)");
  EXPECT_EQ(refusal_of([] {
              parse_measurements({"entropy", "lens,entropy"});
            }),
            "measure: 'entropy' is given twice; measure it once per run");
  EXPECT_EQ(refusal_of([] { parse_measurements({"entropy raw"}); }),
            "measure: expected OPTION=VALUE after the measurement, e.g. 'entropy preset=raw', got "
            "'raw'");
  EXPECT_EQ(refusal_of([] {
              parse_measurements({"entropy", "preset=raw"});
            }),
            "measure: 'preset=raw' is an option without a measurement; quote both together, e.g. "
            "'entropy preset=raw'");
  EXPECT_EQ(refusal_of([] { parse_measurements({" "}); }),
            "measure: expected a measurement (entropy, geometry, attention, lens), got an empty "
            "text");
}

TEST(MeasureOptionsTest, NamesTheFiles) {
  EXPECT_EQ(results_path("a/run.json", "entropy", 1), "a/run.json");
  EXPECT_EQ(results_path("a/run.v2.json", "entropy", 2), "a/run.v2.entropy.json");
  EXPECT_EQ(sample_path("a/run.json"), "a/run.h5");
}

TEST(MeasureOptionsTest, RefusesOptionsOfCapturesThatDoNotApply) {
  const auto refusal = [](const auto& change) {
    CaptureOptions capture;
    capture.output = "results.json";
    MeasureOptions measure;
    measure.measure = {"entropy"};
    change(capture, measure);
    return refusal_of([&] { check_capture_options(capture, measure); });
  };
  EXPECT_EQ(refusal([](auto& capture, auto&) { capture.rows = RowKind::kMean; }),
            "rows: --measure needs every token of a sequence, got mean; omit --rows");
  EXPECT_EQ(refusal([](auto& capture, auto&) { capture.only = {" is"}; }),
            "only: --measure needs every token of a sequence; omit --only");
  EXPECT_EQ(refusal([](auto& capture, auto&) { capture.resume = true; }),
            "resume: --measure keeps no unfinished work; omit --resume");
  EXPECT_EQ(refusal([](auto& capture, auto&) {
              capture.shard = WorkShare{1, 2};
            }),
            "shard: --measure runs in one process; omit --shard, or pass --shard 0/1");
  EXPECT_EQ(refusal([](auto& capture, auto&) { capture.batch_size = BatchSize::automatic(); }),
            "batch_size: auto leaves no memory of the device for --measure; pass a number");
  EXPECT_EQ(refusal([](auto& capture, auto&) { capture.log_likelihood = true; }),
            "log_likelihood: is stored in captures, not measured by --measure; run it separately");
  EXPECT_EQ(refusal([](auto& capture, auto&) { capture.store = StorageType::kFloat16; }),
            "store, compress: --measure stores no activations; omit them, or add "
            "--store-sequences N");
  EXPECT_EQ(refusal([](auto& capture, auto&) { capture.output = "capture.h5"; }),
            "output: --measure writes results, so the name must end in .json, .csv, .tex or .txt, "
            "got 'capture.h5'; pass e.g. -o results.json");
}

TEST(MeasureOptionsTest, RefusesItsOptionsWithoutMeasurements) {
  MeasureOptions options;
  options.store_sequences = 3;
  EXPECT_EQ(refusal_of([&] { options.validate(); }),
            "store_sequences: applies to --measure only; use --max-sequences");
  options = {};
  options.activation_memory = ByteSize{1};
  EXPECT_EQ(refusal_of([&] { options.validate(); }),
            "activation_memory: applies to --measure only; omit it");
}

}  // namespace
}  // namespace lime
