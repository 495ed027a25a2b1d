// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-metrics: interrupting, resuming, and rerunning a result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
using testing::read_text;
using testing::run_command;
using testing::SmallCapture;
using ::testing::StartsWith;
using testing::write_capture;
using testing::write_text;

/// Returns a results file without run-specific fields.
std::string without_provenance(const fs::path& path) {
  Json document = read_json_file(path);
  document.erase("provenance");
  return document.dump();
}

class LimeMetricsResumeTest : public LimeMetricsTest {
 protected:
  /// Replaces capture.h5 by another capture.
  void replace_capture() const {
    fs::remove(folder_ / "capture.h5");
    fs::remove_all(folder_ / "capture.shards");
    write_capture(folder_ / "capture.h5", example_capture(9));
  }

  /// Writes ten layers that take some tenths of a second each on one thread.
  void write_long_capture() const {
    constexpr std::int64_t kSequences = 4;
    constexpr std::int64_t kSize = 384;
    SmallCapture capture;
    capture.lengths.assign(kSequences, kSize);
    for (int layer = 0; layer < 10; ++layer) {
      capture.activations.push_back(
          {"hidden", layer,
           testing::random_matrix(kSequences * kSize, kSize, static_cast<std::uint64_t>(layer))});
    }
    write_capture(folder_ / "capture.h5", capture);
  }

  /// Starts `arguments` and sends SIGINT when the first unit is finished.
  ProgramRun interrupt(const std::string& arguments, const std::string& journal) const {
    return run_command(fmt::format(
        "cd '{}' && {{ {} {} & pid=$!; while [ ! -s {} ] && kill -0 $pid; do sleep 0.01; done; "
        "kill -INT $pid; wait $pid; }}",
        folder_.path().string(), LIME_METRICS, arguments, journal));
  }

  /// Writes entropy.json from capture.h5.
  void write_results(const std::string& more = "") const {
    write_capture(folder_ / "capture.h5", example_capture());
    ASSERT_EQ(run("entropy capture.h5 --label m --quiet -o entropy.json " + more).status, 0);
  }
};

TEST_F(LimeMetricsResumeTest, CtrlCKeepsFinishedLayersAndResumeGivesTheSameBytes) {
  write_long_capture();
  ASSERT_EQ(run("entropy --quiet --alpha 0.5,1 -o whole.json -o whole.csv --threads 2").status, 0);
  const std::string command = "entropy --quiet --alpha 0.5,1 -o e.json -o e.csv --threads 1";
  const ProgramRun interrupted = interrupt(command, "e.json.part");
  ASSERT_EQ(interrupted.status, 130) << interrupted.errors;
  EXPECT_EQ(interrupted.errors,
            "lime-metrics: interrupted; finished work is stored in 'e.json.part', resume with "
            "--resume\n");
  EXPECT_FALSE(fs::exists(folder_ / "e.json"));
  const std::string journal = read_text(folder_ / "e.json.part");

  EXPECT_EQ(refusal(command, 1),
            "lime-metrics: 'e.json.part': contains the finished part of an interrupted run; resume "
            "it with --resume, or remove the file\n");
  EXPECT_EQ(refusal("entropy --quiet --alpha 1 -o e.json --resume", 1),
            "lime-metrics: 'e.json.part': was started with different options, options.alpha was "
            "[0.5,1.0], now [1.0]; rerun with the original ones, or remove the file\n");
  EXPECT_EQ(read_text(folder_ / "e.json.part"), journal);

  const ProgramRun resumed = run(command + " --resume");
  EXPECT_EQ(resumed.status, 0) << resumed.errors;
  EXPECT_FALSE(fs::exists(folder_ / "e.json.part"));
  EXPECT_EQ(without_provenance(folder_ / "e.json"), without_provenance(folder_ / "whole.json"));
  EXPECT_EQ(read_text(folder_ / "e.csv"), read_text(folder_ / "whole.csv"));
  EXPECT_GE(read_json_file(folder_ / "e.json").at("provenance").at("resumed_units"), 1);
}

TEST_F(LimeMetricsResumeTest, GoesOnOnceADamagedCaptureIsRestored) {
  write_long_capture();
  const std::string command = "entropy --quiet --alpha 0.5,1 -o e.json --threads 2";
  const fs::path shard = folder_ / "capture.shards/00000.h5";
  const std::string whole = read_text(shard);
  std::string damaged = whole;
  damaged[whole.size() / 2] ^= 1;  // in a layer in the middle
  write_text(shard, damaged);
  const ProgramRun failed = run(command);
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(failed.errors,
              ::testing::MatchesRegex(
                  "lime-metrics: store: 'capture.shards/00000.h5': the checksum of [^\n]*; "
                  "finished work is stored in 'e.json.part', then resume with --resume\n"));
  write_text(shard, whole);
  const ProgramRun resumed = run(command + " --resume");
  EXPECT_EQ(resumed.status, 0) << resumed.errors;
  EXPECT_GE(read_json_file(folder_ / "e.json").at("provenance").at("resumed_units"), 1);
  ASSERT_EQ(run("entropy --quiet --alpha 0.5,1 -o whole.json").status, 0);
  EXPECT_EQ(without_provenance(folder_ / "e.json"), without_provenance(folder_ / "whole.json"));
}

TEST_F(LimeMetricsResumeTest, ResumeOfAFinishedResultHasNothingToDo) {
  write_results();
  const std::string text = read_text(folder_ / "entropy.json");
  const ProgramRun again = run("entropy capture.h5 --label m -o entropy.json --resume");
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(again.errors, "entropy.json: already finished, nothing to do\n");
  EXPECT_EQ(read_text(folder_ / "entropy.json"), text);
  EXPECT_EQ(refusal("entropy capture.h5 --label m -o entropy.json --resume --seed 1", 1),
            "lime-metrics: 'entropy.json': is the finished result of another run, options.seed was "
            "0, now 1; omit --resume to replace it\n");
  // A missing output is created.
  EXPECT_EQ(run("entropy --label m --quiet -o entropy.json -o entropy.csv --resume").status, 0);
  EXPECT_TRUE(fs::exists(folder_ / "entropy.csv"));
}

TEST_F(LimeMetricsResumeTest, ResumeOfALaterSchemaIsRefused) {
  write_results();
  Json document = read_json_file(folder_ / "entropy.json");
  document["schema"] = "lime-results/9";
  write_text(folder_ / "entropy.json", document.dump());
  EXPECT_EQ(refusal("entropy capture.h5 --label m -o entropy.json --resume", 1),
            "lime-metrics: results: 'entropy.json': has schema version 9, this build reads 1 to 3; "
            "recompute it or update\n");
}

TEST_F(LimeMetricsResumeTest, ResumeRefusesAnotherCapture) {
  write_long_capture();
  const std::string command = "entropy --quiet -o e.json --threads 1";
  ASSERT_EQ(interrupt(command, "e.json.part").status, 130);
  std::filesystem::remove(folder_ / "capture.h5");
  std::filesystem::remove_all(folder_ / "capture.shards");
  write_capture(folder_ / "capture.h5", example_capture());
  EXPECT_THAT(
      refusal(command + " --resume", 1),
      StartsWith("lime-metrics: 'e.json.part': was started with different options, inputs."));
}

TEST_F(LimeMetricsResumeTest, CtrlCWithoutAnOutputSaysThatNothingIsKept) {
  write_long_capture();
  const std::size_t files = count_files();
  std::string same_file_many_times;  // some ten seconds of work
  for (int i = 0; i < 40; ++i) same_file_many_times += " capture.h5";
  const ProgramRun result =
      run("entropy --threads 1" + same_file_many_times, "timeout --preserve-status -s INT 1");
  EXPECT_EQ(result.status, 130);
  EXPECT_EQ(result.errors,
            "lime-metrics: interrupted; finished work was discarded because there is no output "
            "file, add -o FILE to keep it\n");
  EXPECT_EQ(count_files(), files);
}

TEST_F(LimeMetricsResumeTest, ResumeNeedsAnOutput) {
  write_capture(folder_ / "capture.h5", example_capture());
  EXPECT_EQ(
      refusal("entropy --resume", 1),
      "lime-metrics: --resume: needs the output file of the interrupted run; add it with -o\n");
  // Nothing to resume is not an error: the same command serves the first run and the next.
  EXPECT_EQ(run("entropy --quiet --resume -o e.json").status, 0);
}

TEST_F(LimeMetricsResumeTest, SaysWhatNeedsMoreMemoryThanTheLimit) {
  write_capture(folder_ / "capture.h5", example_capture());
  EXPECT_THAT(
      refusal("entropy --memory-limit 1MB", 1),
      StartsWith("lime-metrics: --memory-limit: 4 of 4 units need more than 1MB, the largest is "
                 "'capture.h5': site 'hidden', layer 0 with 4.08 MiB; set --memory-limit to "));
  EXPECT_THAT(refusal("entropy --memory-limit much", 2),
              StartsWith("lime-metrics: --memory-limit: expected a size such as 2GB or 512MiB"));
}

TEST_F(LimeMetricsResumeTest, RerunSaysThatItCameOutTheSame) {
  write_results("--alpha 0.5,inf --seed 7 --layer 1 --compare none");
  const ProgramRun result = run("rerun entropy.json --threads 3");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_EQ(result.output, "entropy.json: reproduced: 4 rows, 64 values, no differences\n");
  EXPECT_EQ(result.errors, "");
}

TEST_F(LimeMetricsResumeTest, RerunRepeatsComparisonsAndFindsCapturesBesideTheResults) {
  write_capture(folder_ / "a.h5", example_capture(1));
  write_capture(folder_ / "b.h5", example_capture(2));
  ASSERT_EQ(run("entropy a.h5 b.h5 --compare all --summary layers --quiet -o e.json").status, 0);
  const ProgramRun elsewhere = run_command(
      fmt::format("cd / && {} rerun '{}'", LIME_METRICS, (folder_ / "e.json").string()));
  EXPECT_EQ(elsewhere.status, 0) << elsewhere.errors << elsewhere.output;
  EXPECT_THAT(elsewhere.output, HasSubstr("reproduced: 18 rows"));
}

TEST_F(LimeMetricsResumeTest, RerunShowsTheLargestDifference) {
  write_results("--bootstrap 0");
  Json document = read_json_file(folder_ / "entropy.json");
  const double mean = document.at("rows")[1].at("mean");
  document["rows"][1]["mean"] = mean + 0.25;
  write_text(folder_ / "entropy.json", document.dump());
  const ProgramRun result = run("rerun entropy.json --quiet");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, StartsWith("entropy.json: differs: 4 rows, 64 values, 1 differ\n"));
  EXPECT_THAT(result.output,
              HasSubstr("  mean: 1 of 4 differ, largest difference 0.25 at m, values, layer 1: "));
  EXPECT_EQ(run("rerun entropy.json --quiet --tolerance 0.5").status, 0);
}

TEST_F(LimeMetricsResumeTest, RerunRefusesInputsThatAreGoneOrOthers) {
  write_results();
  replace_capture();
  EXPECT_THAT(refusal("rerun entropy.json", 1),
              StartsWith("lime-metrics: 'capture.h5': is not the file that 'entropy.json' was "
                         "computed from: expected sha256 "));
  fs::remove(folder_ / "capture.h5");
  EXPECT_EQ(refusal("rerun entropy.json", 1),
            "lime-metrics: 'capture.h5': no longer exists, and 'entropy.json' was computed from "
            "it; restore it at this path\n");
}

TEST_F(LimeMetricsResumeTest, RerunRefusesResultsThatItCannotRepeat) {
  write_results();
  const Json document = read_json_file(folder_ / "entropy.json");
  const auto refusal_with = [&](const std::string& key, const Json& value) {
    Json changed = document;
    changed[key] = value;
    write_text(folder_ / "changed.json", changed.dump());
    return refusal("rerun changed.json", 1);
  };
  EXPECT_EQ(refusal_with("schema", "lime-results/9"),
            "lime-metrics: results: 'changed.json': has schema version 9, this build reads 1 to 3; "
            "recompute it or update\n");
  EXPECT_THAT(
      refusal_with("metric", "charm"),
      StartsWith("lime-metrics: 'changed.json': unknown metric 'charm' (supported: entropy, "));
  Json sweep = document;
  sweep["metric"] = "sweep";
  sweep["provenance"]["command"] = "lime-capture sweep data/aet-lime --text corpus.txt";
  write_text(folder_ / "sweep.json", sweep.dump());
  EXPECT_EQ(refusal("rerun sweep.json", 1),
            "lime-metrics: 'sweep.json': contains results of another program ('sweep'); rerun its "
            "command: lime-capture sweep data/aet-lime --text corpus.txt\n");
  EXPECT_EQ(refusal_with("options", {{"captures", {"capture.h5"}}, {"beta", 1}}),
            "lime-metrics: 'changed.json': options.beta is unknown to this build of entropy; "
            "recompute the results\n");
  EXPECT_THAT(refusal("rerun none.json", 1), HasSubstr("none.json"));
}

TEST_F(LimeMetricsResumeTest, AnEmptyLayerListIsRefused) {
  write_capture(folder_ / "capture.h5", example_capture());
  EXPECT_EQ(refusal("entropy --layer ''", 2),
            "lime-metrics: --layer: expected all or a list such as 0,3,8-15, got ''; see "
            "lime-metrics entropy --help\n");
  EXPECT_EQ(refusal("entropy --layer=", 2),
            "lime-metrics: --layer: a value is missing; see lime-metrics --help\n");
}

TEST_F(LimeMetricsResumeTest, EscapesWhatATerminalWouldObey) {
  const std::string name = "a\x1b[31m\nb.h5";
  write_capture(folder_ / name, example_capture());
  const auto is_harmless = [](const ProgramRun& result) {
    EXPECT_THAT(result.output + result.errors, ::testing::Not(HasSubstr("\x1b")));
    return result;
  };
  const std::string file = "\"$(printf 'a\\033[31m\\nb.h5')\"";
  const ProgramRun table = is_harmless(run("entropy " + file + " -o e.json"));
  EXPECT_EQ(table.status, 0) << table.errors;
  EXPECT_THAT(table.output, HasSubstr("a\\x1b[31m\\nb.h5"));
  is_harmless(run("tokens " + file));
  is_harmless(run("geometry " + file));
  is_harmless(run("entropy " + file + " --site none"));
  // Our writer refuses such names, another program's may not.
  std::filesystem::copy_file(testing::source_file("tests/fuzz/corpus/capture/odd-site"),
                             folder_ / "odd.h5");
  for (const char* command : {"tokens", "entropy"}) {
    const ProgramRun odd = is_harmless(run(command + std::string(" odd.h5")));
    EXPECT_EQ(odd.status, 0) << odd.errors;
    EXPECT_THAT(odd.output, HasSubstr("v\\x1b[31m\\n"));
  }
  EXPECT_THAT(is_harmless(run("entropy odd.h5 --site none")).errors,
              HasSubstr("its sites: v\\x1b[31m\\n)"));

  Json results = parse_json(testing::read_text(folder_ / "e.json"), "e.json");
  results["rows"][0]["mean"] = 1e9;
  results["provenance"]["tool"] = "lime \x7f\xC2\x9B";
  write_text(folder_ / "changed.json", results.dump());
  const ProgramRun differs = is_harmless(run("rerun changed.json"));
  EXPECT_EQ(differs.status, 1);
  EXPECT_THAT(differs.output, HasSubstr("originally computed by \"lime \\x7f\\u009b\", now by "));
  results["metric"] = "charm\x1b[31m\n";
  write_text(folder_ / "changed.json", results.dump());
  EXPECT_THAT(refusal("rerun changed.json", 1), HasSubstr("unknown metric 'charm\\x1b[31m\\n' ("));
}

TEST_F(LimeMetricsResumeTest, CutsWhatMessagesQuote) {
  write_capture(folder_ / "a.h5", example_capture());
  const std::string seed = refusal("entropy a.h5 --seed " + std::string(100000, '7'), 2);
  EXPECT_LT(seed.size(), 500U);
  EXPECT_THAT(seed, ::testing::EndsWith("; see lime-metrics entropy --help\n"));
  write_text(folder_ / "odd.json", "{\"schema\": \"" + std::string(100000, 'x') + "\"}");
  EXPECT_LT(refusal("rerun odd.json", 1).size(), 500U);
}

TEST_F(LimeMetricsResumeTest, CompareRefusesOtherSequences) {
  write_capture(folder_ / "a.h5", example_capture());
  SmallCapture other = example_capture();
  other.first_token = 1;
  write_capture(folder_ / "b.h5", other);
  EXPECT_EQ(
      refusal("entropy a.h5 b.h5 --compare first", 1),
      "lime-metrics: --compare: 'a' and 'b' contain different sequences, but the comparison is "
      "paired; capture both with the same text and tokenizer, and use the same options\n");
  EXPECT_EQ(refusal("entropy a.h5 --compare all", 1),
            "lime-metrics: --compare: expected at least two captures, got 1\n");
}

}  // namespace
}  // namespace lime
