// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics errors: one clear line for every invalid input, and no files
// left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "app/lime_metrics_fixture.h"
#include "store/hdf5/hdf5_writer.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using testing::example_capture;
using ::testing::IsEmpty;
using testing::LimeMetricsTest;
using ::testing::MatchesRegex;
using testing::ProgramRun;
using testing::read_text;
using testing::SmallCapture;
using testing::write_capture;
using testing::write_text;

using LimeMetricsErrorsTest = LimeMetricsTest;

TEST_F(LimeMetricsErrorsTest, WrongUsageIsOneLineAndStatus2) {
  write_capture(folder_ / "capture.h5", example_capture());
  const std::string see = "; see lime-metrics entropy --help\n";
  for (const std::string alpha : {"0", "-1", "nan", "-inf"}) {
    EXPECT_EQ(refusal("entropy --alpha " + alpha, 2),
              fmt::format("lime-metrics: --alpha: must be > 0 (1 and inf are allowed), got {}{}",
                          alpha, see));
  }
  EXPECT_EQ(refusal("entropy --alpha half", 2),
            "lime-metrics: --alpha: expected a number, got 'half'" + see);
  EXPECT_EQ(refusal("entropy --preset lime", 2),
            "lime-metrics: --preset: expected one of lime-code, raw, seq-vcr, layer-by-layer, "
            "matrix-entropy, diff-erank, got 'lime'" +
                see);
  EXPECT_EQ(refusal("entropy --format xml", 2),
            "lime-metrics: --format: expected one of table, csv, json, latex, got 'xml'" + see);
  EXPECT_EQ(
      refusal("entropy --label a b", 2),
      "lime-metrics: --label: expected one name per capture, got 2 (a, b) for 1 capture; put the "
      "captures before --label; a comma separates labels, write '\\,' for a comma inside a label" +
          see);
  EXPECT_EQ(refusal("entropy --layer 3-", 2),
            "lime-metrics: --layer: expected all or a list such as 0,3,8-15, got '3-'" + see);
  EXPECT_EQ(
      refusal("entropy -o out.dat", 2),
      "lime-metrics: --output: the name must end in .json, .csv, .tex or .txt, got 'out.dat'; "
      "or use --format" +
          see);
  EXPECT_EQ(refusal("entropy --threads -1", 2),
            "lime-metrics: --threads: must be from 0 to 1024 (0 uses all CPUs), got -1" + see);
  EXPECT_EQ(refusal("entropy --top-k 0", 2), "lime-metrics: --top-k: must be > 0, got 0" + see);
  EXPECT_EQ(refusal("entropy --bootstrap 5", 2),
            "lime-metrics: --bootstrap: must be >= 100, or 0 for no interval, got 5" + see);
  for (const std::string command :
       {"entropy", "blimp", "geometry", "counterfactual", "attention"}) {
    EXPECT_EQ(
        refusal(command + " --bootstrap 1000000000000", 2),
        "lime-metrics: --bootstrap: must be <= 10000000, got 1000000000000; see lime-metrics " +
            command + " --help\n");
  }
  EXPECT_EQ(refusal("entropy --compare-resamples 1000000000000", 2),
            "lime-metrics: --compare-resamples: must be <= 10000000, got 1000000000000" + see);
  EXPECT_EQ(refusal("entropy --confidence 95", 2),
            "lime-metrics: --confidence: must be in (0, 1), got 95" + see);
  EXPECT_EQ(refusal("entropy --site values,values", 2),
            "lime-metrics: --site: every name must be unique, got values, values" + see);
  EXPECT_EQ(refusal("entropy --max-sequences 0", 2),
            "lime-metrics: --max-sequences: must be > 0, got 0" + see);
  EXPECT_EQ(refusal("entrpy", 2),
            "lime-metrics: unknown command 'entrpy'; did you mean 'entropy'?; see lime-metrics "
            "--help\n");
}

TEST_F(LimeMetricsErrorsTest, RefusesFilesThatAreNoCaptureOfThisSchema) {
  EXPECT_EQ(refusal("entropy", 1),
            "lime-metrics: 'capture.h5': no such file; give the path of a capture, or write one "
            "with lime-capture\n");
  write_text(folder_ / "text.h5", "not HDF5 at all");
  EXPECT_EQ(refusal("entropy text.h5", 1), "lime-metrics: store: 'text.h5' is not an HDF5 file\n");

  const auto write_foreign = [&](const std::string& name, const std::string& format, int schema) {
    Hdf5Writer file(folder_ / name);
    file.set_attribute("format", format);
    file.set_attribute("schema_version", std::int64_t{schema});
    file.commit();
  };
  write_foreign("later.h5", "lime-capture", 7);
  EXPECT_EQ(refusal("entropy later.h5", 1),
            "lime-metrics: store: 'later.h5' has schema version 7, this build reads 1; capture it "
            "again or update\n");
  write_foreign("other.h5", "other-program", 1);
  EXPECT_EQ(
      refusal("entropy other.h5", 1),
      "lime-metrics: store: 'other.h5' is not a capture but an HDF5 file of another program\n");
  Hdf5Writer(folder_ / "empty.h5").commit();
  EXPECT_EQ(
      refusal("entropy empty.h5", 1),
      "lime-metrics: store: 'empty.h5' is not a capture but an HDF5 file of another program\n");
}

TEST_F(LimeMetricsErrorsTest, RefusesCapturesThatAreCutShortOrLackAShard) {
  write_capture(folder_ / "capture.h5", example_capture());
  const auto refusal_when_cut = [&](const std::string& name) {
    const std::string whole = read_text(folder_ / name);
    write_text(folder_ / name, whole.substr(0, whole.size() / 2));
    std::string line = refusal("entropy", 1);
    write_text(folder_ / name, whole);
    return line;
  };
  EXPECT_THAT(refusal_when_cut("capture.h5"),
              MatchesRegex("lime-metrics: store: 'capture.h5' is truncated: it has [0-9]+ bytes, "
                           "fewer than its header declares\n"));
  EXPECT_THAT(refusal_when_cut("capture.shards/00000.h5"),
              MatchesRegex("lime-metrics: store: 'capture.shards/00000.h5' is truncated: it has "
                           "[0-9]+ bytes instead of [0-9]+; resume the capture\n"));
  EXPECT_EQ(run("entropy").status, 0);
  fs::remove(folder_ / "capture.shards/00000.h5");
  EXPECT_EQ(refusal("entropy", 1),
            "lime-metrics: store: 'capture.h5' needs 'capture.shards/00000.h5', which is missing; "
            "keep the folder next to the file, or resume the capture\n");
}

TEST_F(LimeMetricsErrorsTest, SaysWhatTheCaptureHasWhereALayerOrSiteIsMissing) {
  write_capture(folder_ / "capture.h5", example_capture());
  EXPECT_EQ(refusal("entropy --layer 7", 1),
            "lime-metrics: 'capture.h5': site 'values': layer 7 does not exist (available: 0-1)\n");
  EXPECT_EQ(refusal("entropy --site keys", 1),
            "lime-metrics: 'capture.h5': unknown site 'keys' (its sites: values, hidden)\n");
}

TEST_F(LimeMetricsErrorsTest, RefusesRowsThatAreNoSequences) {
  SmallCapture capture = example_capture();
  capture.rows = RowKind::kMean;
  write_capture(folder_ / "pooled.h5", capture);
  EXPECT_EQ(refusal("entropy pooled.h5", 1),
            "lime-metrics: 'pooled.h5': contains one row per sequence (--rows mean), but entropy "
            "needs every token of a sequence; capture again with --rows tokens\n");
  capture.rows = RowKind::kTokens;
  capture.class_names = {" is"};
  write_capture(folder_ / "only.h5", capture);
  EXPECT_EQ(refusal("entropy only.h5", 1),
            "lime-metrics: 'only.h5': contains only some tokens (' is'), but entropy needs every "
            "token of a sequence; capture again without --only\n");
  capture = example_capture();
  capture.lengths = {5, 1, 10};
  write_capture(folder_ / "short.h5", capture);
  EXPECT_THAT(run("entropy short.h5").output,
              HasSubstr("short: skipped 1 sequence of fewer than 2 tokens"));
  capture.lengths = std::vector<std::int64_t>(16, 1);
  write_capture(folder_ / "single.h5", capture);
  EXPECT_EQ(refusal("entropy single.h5", 1),
            "lime-metrics: 'single.h5': sequence 0 has 1 token, but entropy needs at least 2; "
            "capture again without it\n");
}

TEST_F(LimeMetricsErrorsTest, RefusesActivationsThatAreNotFinite) {
  SmallCapture capture = example_capture();
  capture.activations[1].rows(7, 2) = std::nanf("");
  write_capture(folder_ / "capture.h5", capture);
  EXPECT_EQ(refusal("entropy --preset raw", 1),
            "lime-metrics: 'capture.h5': site 'values', layer 1: entropy: sequence 1: "
            "representations must be finite, got nan at token 2, dimension 2; check the model for "
            "overflow, or capture in a wider type\n");
}

TEST_F(LimeMetricsErrorsTest, RefusesOutputsThatItCannotWrite) {
  write_capture(folder_ / "capture.h5", example_capture());
  EXPECT_EQ(refusal("entropy -o none/e.json", 1),
            "lime-metrics: 'none/e.json': the folder 'none' does not exist; create it first\n");
  EXPECT_EQ(
      refusal("entropy -o capture.h5 --format json", 1),
      "lime-metrics: --output: 'capture.h5' is an input and would be overwritten; use another "
      "name\n");
  const ProgramRun full = run("entropy > /dev/full");
  EXPECT_EQ(full.status, 1);
  EXPECT_EQ(full.errors,
            "lime-metrics: standard output: cannot be written: No space left on device; free some "
            "space or write elsewhere\n");
}

}  // namespace
}  // namespace lime
