// SPDX-License-Identifier: Apache-2.0
// lime-capture sweep: its rows, its threads, and its resumption.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "app/lime_capture_fixture.h"
#include "core/json.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::LimeCaptureTest;
using testing::ProgramRun;

TEST_F(LimeCaptureTest, SweepsOverComponentsAndRefusesUnknownEdits) {
  const std::string sweep = "sweep --checkpoint model --text text.txt --seq-len 20 ";
  const ProgramRun run_all = run(sweep + "--over sublayers -o sweep.json");
  EXPECT_EQ(run_all.status, 0) << run_all.errors;
  EXPECT_THAT(run_all.output, HasSubstr("attention"));
  EXPECT_EQ(read_json_file(folder_ / "sweep.json")["rows"].size(), 7U);
  EXPECT_THAT(run(sweep + "--over sublayers -o sweep.json --resume").errors,
              HasSubstr("already finished"));
  EXPECT_THAT(run(sweep + "--edit 'zero hiden'").errors, HasSubstr("did you mean 'hidden'?"));
  EXPECT_THAT(run(sweep).errors, HasSubstr("--edit: is missing"));
}

TEST_F(LimeCaptureTest, SweepsOverComponentsOfSelectedLayers) {
  const std::string sweep = "sweep --checkpoint model --text text.txt --seq-len 20 --over heads ";
  ASSERT_EQ(run(sweep + "-o all.json").status, 0);
  ASSERT_EQ(run(sweep + "--layers 1 -o one.json").status, 0);
  const Json all = read_json_file(folder_ / "all.json")["rows"];
  const Json one = read_json_file(folder_ / "one.json")["rows"];
  ASSERT_GT(one.size(), 1U);
  for (const Json& row : one) {
    EXPECT_THAT(all, ::testing::Contains(row)) << "as in the sweep over all";
    if (row.contains("layer")) {
      EXPECT_EQ(row["layer"], 1);
    }
  }
  EXPECT_THAT(run(sweep + "--layers 9").errors, HasSubstr("--layers: "));
  EXPECT_THAT(
      run("sweep --checkpoint model --text text.txt --edit 'zero attn.hook_z' --layers 1").errors,
      HasSubstr("--layers: selects components of --over"));
}

TEST_F(LimeCaptureTest, SweepsLeaveOutSequencesWithoutSelectedTokens) {
  testing::write_text(folder_ / "lines.txt", "the cat is here\nthe dogs were there\n");
  const std::string sweep = "sweep --checkpoint model --lines lines.txt --over layers ";
  const ProgramRun words = run(sweep + "--score-after cat");
  EXPECT_EQ(words.status, 0) << words.errors;
  EXPECT_THAT(words.errors, HasSubstr("1 of 2 sequences have no token to score and are left out"));
  EXPECT_THAT(words.output, HasSubstr("nats per token, one sequence"));
  EXPECT_THAT(run(sweep + "--score-after absent").errors,
              HasSubstr("sweep: none of the 2 sequences has a token to score"));
}

/// Returns what a results file contains apart from its provenance.
Json results_of(const std::filesystem::path& file) {
  Json json = read_json_file(file);
  json.erase("provenance");
  return json;
}

TEST_F(LimeCaptureTest, SweepsWithEqualBitsForAnyNumberOfThreads) {
  const std::string sweep =
      "sweep --checkpoint model --text text.txt --seq-len 20 --over heads --bootstrap 100 --quiet ";
  for (const std::string threads : {"1", "2"}) {
    const ProgramRun result = run(sweep + "--threads " + threads + " -o " + threads + ".json");
    ASSERT_EQ(result.status, 0) << result.errors;
  }
  EXPECT_EQ(results_of(folder_ / "1.json"), results_of(folder_ / "2.json"));
}

TEST_F(LimeCaptureTest, ResumesAKilledSweepWithEqualResults) {
  testing::write_text(folder_ / "long.txt", testing::tiny_text(1500));
  const std::string sweep =
      "sweep --checkpoint model --text long.txt --seq-len 20 --batch-size 2 --over heads "
      "--bootstrap 100 --threads 1 --quiet ";
  // The journal begins with a header; a longer one has a finished batch.
  const ProgramRun killed = testing::run_command(fmt::format(
      "cd '{0}' && {1} {2} -o cut.json & pid=$!; cd '{0}'; while [ \"$(cat cut.json.part* "
      "2>/dev/null | wc -l)\" -lt 3 ] && kill -0 $pid; do sleep 0.01; done; kill -KILL $pid; "
      "wait $pid",
      folder_.path().string(), LIME_CAPTURE, sweep));
  EXPECT_NE(killed.status, 0);
  ASSERT_FALSE(std::filesystem::exists(folder_ / "cut.json"));
  const ProgramRun resumed = run(sweep + "-o cut.json --resume");
  ASSERT_EQ(resumed.status, 0) << resumed.errors;
  ASSERT_EQ(run(sweep + "-o whole.json").status, 0);
  EXPECT_EQ(results_of(folder_ / "cut.json"), results_of(folder_ / "whole.json"));
}

}  // namespace
}  // namespace lime
