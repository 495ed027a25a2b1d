// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-capture --measure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "app/lime_capture_fixture.h"
#include "core/json.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::kCapture;
using testing::ProgramRun;

class LimeCaptureMeasureTest : public testing::LimeCaptureTest {};

TEST_F(LimeCaptureMeasureTest, WritesTheResultsOfLimeMetricsWithoutACapture) {
  const ProgramRun measured = run(std::string(kCapture) + " --measure entropy -o one.json");
  ASSERT_EQ(measured.status, 0) << measured.errors;
  EXPECT_THAT(measured.output, HasSubstr("Measure   entropy in 6 datasets, "));
  EXPECT_THAT(measured.output, HasSubstr("measured during the pass"));
  EXPECT_THAT(measured.output, HasSubstr("Wrote     one.json\n"));
  EXPECT_FALSE(fs::exists(folder_ / "capture.h5"));
  ASSERT_EQ(run(std::string(kCapture) + " -o model.h5 --quiet").status, 0);
  const auto in_folder = [&](const std::string& arguments) {
    return testing::run_command("cd '" + folder_.path().string() + "' && " + LIME_METRICS + " " +
                                arguments);
  };
  ASSERT_EQ(in_folder("entropy model.h5 -o two.json --quiet").status, 0);
  EXPECT_EQ(read_json_file(folder_ / "one.json").at("rows"),
            read_json_file(folder_ / "two.json").at("rows"));
  EXPECT_THAT(in_folder("rerun one.json").errors,
              HasSubstr("'one.json': was measured by lime-capture --measure, which stores no "
                        "capture; run its command again: lime-capture "));
}

TEST_F(LimeCaptureMeasureTest, WritesAFilePerMeasurementAndASample) {
  const ProgramRun measured =
      run(std::string(kCapture) +
          " --measure entropy,lens 'attention skip-queries=2' --store-sequences 2 -o run.csv");
  ASSERT_EQ(measured.status, 0) << measured.errors;
  for (const char* const name :
       {"run.entropy.csv", "run.lens.csv", "run.attention.csv", "run.h5"}) {
    EXPECT_TRUE(fs::exists(folder_ / name)) << name;
  }
}

TEST_F(LimeCaptureMeasureTest, RefusesInOneLine) {
  const std::string command(kCapture);
  expect_refusal(command + " --measure entropy", 2, "output: --measure writes results");
  expect_refusal(command + " --measure entropie -o a.json", 2, "unknown measurement 'entropie'");
  expect_refusal(command + " --measure 'entropy preset=rav' -o a.json", 2, "preset: expected one");
  expect_refusal(command + " --measure entropy --resume -o a.json", 2, "omit --resume");
  expect_refusal(command + " --store-sequences 2", 2,
                 "--store-sequences: applies to --measure only");
  EXPECT_FALSE(fs::exists(folder_ / "a.json"));
}

}  // namespace
}  // namespace lime
