// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics entropy --device cuda on LibTorch's CPU instead of a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "app/lime_metrics_fixture.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using testing::example_capture;
using ::testing::HasSubstr;
using testing::LimeMetricsTest;
using testing::ProgramRun;
using testing::write_capture;

class LimeMetricsGpuTest : public LimeMetricsTest {
 protected:
  void SetUp() override { ::setenv("LIME_GPU_STAND_IN", "cpu", 1); }
  void TearDown() override { ::unsetenv("LIME_GPU_STAND_IN"); }

  Json document(const std::string& name) const { return read_json_file(folder_ / name); }

  /// Expects equal rows, except for numbers that differ by 1e-9 and rounding errors in widths that
  /// should be 0.
  static void expect_near(const Json& found, const Json& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].size(), expected[i].size());
      for (const auto& [name, value] : expected[i].items()) {
        if (value.is_number_float()) {
          EXPECT_NEAR(found[i].at(name).get<double>(), value.get<double>(), 1e-9) << name;
        } else {
          EXPECT_EQ(found[i].at(name), value) << name;
        }
      }
    }
  }
};

TEST_F(LimeMetricsGpuTest, GivesTheTableOfTheCpu) {
  write_golden_captures();
  for (const std::string options :
       {"--alpha 0.5,1,2,inf --compare first",
        "--preset layer-by-layer --normalization logNlogD --summary layers",
        "--preset diff-erank --max-sequences 2 --site hidden"}) {
    SCOPED_TRACE(options);
    const std::string command = "entropy first.h5 second.h5 " + options;
    expect_near(rows(command + " --device cuda"), rows(command));
  }
}

TEST_F(LimeMetricsGpuTest, SaysInTheResultsWhereItWasComputed) {
  write_capture(folder_ / "capture.h5", example_capture());
  const ProgramRun result = run("entropy --quiet --device cuda:0 -o e.json");
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(document("e.json").at("provenance").at("device"), "cpu");
  EXPECT_EQ(document("e.json").at("options").at("device"), "cuda:0");
}

TEST_F(LimeMetricsGpuTest, GivesTheSameBytesForAnyNumberOfThreads) {
  write_golden_captures();
  const Json expected = rows("entropy first.h5 second.h5 --device cuda --threads 1");
  const Json found = rows("entropy first.h5 second.h5 --device cuda --threads 4");
  EXPECT_EQ(difference(found, expected), "");
}

TEST_F(LimeMetricsGpuTest, GoesOnWithWhatTheSameDeviceHasFinished) {
  write_golden_captures();
  const std::string command = "entropy first.h5 --quiet --device cuda -o e.json";
  ASSERT_EQ(run(command + " --shard 0/2").status, 0);
  ASSERT_FALSE(fs::exists(folder_ / "e.json"));
  ASSERT_EQ(run(command + " --shard 1/2").status, 0);
  EXPECT_EQ(difference(document("e.json").at("rows"), rows("entropy first.h5 --device cuda")), "");
  EXPECT_THAT(refusal("entropy first.h5 --quiet -o e.json --resume", 1),
              HasSubstr("is the finished result of another run, options.device"));
}

TEST_F(LimeMetricsGpuTest, AFailureOfTheGpuIsOneLine) {
  write_capture(folder_ / "capture.h5", example_capture());
  ::setenv("LIME_GPU_STAND_IN", "cuda:99", 1);
  EXPECT_THAT(
      refusal("entropy --quiet --device cuda", 1),
      ::testing::MatchesRegex("lime-metrics: --device: cuda:99 failed: .*; finished results "
                              "are valid, try again or use --device cpu\n"));
}

TEST_F(LimeMetricsGpuTest, RerunComputesThereAgainOrWhereItIsTold) {
  write_capture(folder_ / "capture.h5", example_capture());
  ASSERT_EQ(run("entropy --quiet --device cuda -o e.json").status, 0);
  const ProgramRun same = run("rerun e.json --quiet");
  EXPECT_EQ(same.status, 0) << same.output;
  EXPECT_THAT(same.output, HasSubstr("no differences"));
  const ProgramRun on_cpu = run("rerun e.json --quiet --device cpu --tolerance 1e-9");
  EXPECT_EQ(on_cpu.status, 0) << on_cpu.output << on_cpu.errors;
}

TEST_F(LimeMetricsGpuTest, WhatCannotBeComputedThereIsOneLine) {
  write_capture(folder_ / "capture.h5", example_capture());
  const std::string see = "; see lime-metrics entropy --help\n";
  EXPECT_EQ(refusal("entropy --device gpu", 2),
            "lime-metrics: --device: must be cpu, cuda or cuda:N, got 'gpu'" + see);
  EXPECT_EQ(
      refusal("entropy --device cuda --top-k 2", 2),
      "lime-metrics: --top-k: is supported on the CPU only, got device 'cuda'; omit --top-k or "
      "--device" +
          see);
  EXPECT_EQ(
      refusal("entropy --device cuda:3", 1),
      "lime-metrics: --device: must be one of the 1 GPU visible to CUDA, cuda:0, got cuda:3\n");
}

TEST_F(LimeMetricsGpuTest, RefusesAMemoryLimitThatABatchExceeds) {
  write_capture(folder_ / "capture.h5", example_capture());
  EXPECT_THAT(refusal("entropy --device cuda --memory-limit 1MiB", 1), HasSubstr("memory"));
}

TEST_F(LimeMetricsGpuTest, SaysThatThereIsNoGpu) {
  write_capture(folder_ / "capture.h5", example_capture());
  ::unsetenv("LIME_GPU_STAND_IN");
  const ProgramRun result = run("entropy --device cuda");
  if (result.status == 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("--device: LibTorch finds no GPU"));
  EXPECT_THAT(result.errors, HasSubstr("use --device cpu\n"));
}

}  // namespace
}  // namespace lime
