// SPDX-License-Identifier: Apache-2.0
// End-to-end tests of lime-capture: its output, files, errors and robustness.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "app/lime_capture_fixture.h"
#include "store/capture_reader.h"
#include "support/test_data.h"
#include "support/tiny_checkpoint.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kCapture;
using testing::LimeCaptureTest;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::ProgramRun;
using testing::run_command;
using testing::write_text;

TEST_F(LimeCaptureTest, ReadsTheFoldersOfTheReleasedTraining) {
  testing::move_to_released_layout(folder_ / "model");
  for (const std::string folder : {"model", "model/final"}) {
    const ProgramRun result = run("--checkpoint " + folder + " --text text.txt --seq-len 20 " +
                                  "--layers 0 -o " + folder + ".h5");
    EXPECT_EQ(result.status, 0) << result.errors;
  }
  EXPECT_EQ(CaptureReader(folder_ / "model.h5").info().checkpoint_sha256,
            CaptureReader(folder_ / "model/final.h5").info().checkpoint_sha256);
}

TEST_F(LimeCaptureTest, WarnsOfTiedEmbeddingsThatDiffer) {
  Json config = read_json_file(folder_ / "model/config.json");
  config["tie_word_embeddings"] = true;
  write_text(folder_ / "model/config.json", config.dump());
  const ProgramRun result = run("--checkpoint model --text text.txt --seq-len 20 --quiet");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.errors, MatchesRegex("lime-capture: warning: 'model': lm_head[^\n]*\n"));
}

/// Everything after an edited router changes, and the capture records the edit.
TEST_F(LimeCaptureTest, CapturesAnEditedModel) {
  testing::write_tiny_checkpoint(folder_ / "lime", testing::tiny_config("lime"));
  const std::string capture =
      "--checkpoint lime --text text.txt --seq-len 20 --threads 1 --log-likelihood --sites hidden";
  write_text(
      folder_ / "edit.json",
      R"({"format": "lime-router-edit/1", "edits": [{"layer": 2, "source": 0, "scale": 0}]})");
  ASSERT_EQ(run(capture + " -o plain.h5").status, 0);
  const ProgramRun edited = run(capture + " -o edited.h5 --edit edit.json");
  ASSERT_EQ(edited.status, 0) << edited.errors;
  const CaptureReader before(folder_ / "plain.h5");
  const CaptureReader after(folder_ / "edited.h5");
  EXPECT_EQ(after.info().options["router_edit"]["edits"][0]["layer"], 2);
  EXPECT_FALSE(before.info().options.contains("router_edit"));
  const MatrixF router = after.router(2);
  const std::int64_t heads = router.rows();
  EXPECT_TRUE(router.leftCols(heads).isZero());
  EXPECT_TRUE(router.rightCols(2 * heads).isApprox(before.router(2).rightCols(2 * heads)));
  EXPECT_TRUE(after.router(1).isApprox(before.router(1)));

  write_text(folder_ / "bad.json",
             R"({"format": "lime-router-edit/1", "edits": [{"layer": 9, "scale": 0}]})");
  expect_refusal(capture + " --edit bad.json", 1,
                 "router edit 0: layer must be from 1 to 2 because layer 0 has no router, got 9");
}

TEST_F(LimeCaptureTest, CapturesATextAndSaysWhat) {
  const ProgramRun result = run(kCapture);
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors, IsEmpty());
  EXPECT_THAT(result.output,
              HasSubstr("'<s>' prepended to each sequence (--bos auto --packing bos-each)"));
  EXPECT_THAT(result.output, HasSubstr("First ids 256 '<s>'  79 'O'  110 'n'  99 'c'  101 'e'"));
  EXPECT_THAT(result.output, HasSubstr(" (tokens) in each of 6 datasets, "));
  EXPECT_THAT(result.output, HasSubstr(" of free disk space"));
  EXPECT_THAT(result.output, HasSubstr("stops after layer 2, 1 of 1 shards left"));
  EXPECT_THAT(result.output, HasSubstr("tokens/s"));
  EXPECT_THAT(result.output, HasSubstr("peak memory "));
  EXPECT_THAT(result.output, HasSubstr("Wrote     capture.h5"));
  EXPECT_TRUE(CaptureReader(folder_ / "capture.h5").complete());
}

TEST_F(LimeCaptureTest, StaysWithinTheMemoryLimit) {
  const std::string command = std::string(kCapture) + " --memory-limit ";
  const ProgramRun refused = run(command + "20MB");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.errors, HasSubstr("--memory-limit: 20MB is too little for weights of "));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "capture.h5"));
  // It accepts the limit that it suggested.
  const std::string asked = "pass --memory-limit ";
  const std::size_t at = refused.errors.find(asked);
  ASSERT_NE(at, std::string::npos) << refused.errors;
  const std::int64_t named = std::stoll(refused.errors.substr(at + asked.size()));
  const ProgramRun result = run(command + std::to_string(named) + "MiB");
  EXPECT_EQ(result.status, 0) << result.errors;
  const std::string peak = "peak memory ";
  const std::size_t said = result.output.find(peak);
  ASSERT_NE(said, std::string::npos) << result.output;
  EXPECT_THAT(result.output.substr(said), HasSubstr("MiB"));
  EXPECT_LE(std::stod(result.output.substr(said + peak.size())), static_cast<double>(named));
}

TEST_F(LimeCaptureTest, GoesOnWithAnotherMemoryLimit) {
  const std::string command = "--checkpoint model --text text.txt --seq-len 20 --quiet ";
  ASSERT_EQ(run(command + "--batch-size 4 -o whole.h5").status, 0);
  ASSERT_EQ(run(command + "--batch-size 4").status, 0);
  fs::remove(folder_ / "capture.shards/00000.json");
  const ProgramRun refused = run(command + "--resume --memory-limit 20MB");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.errors,
              MatchesRegex("lime-capture: --memory-limit: the capture was started with passes of 4 "
                           "sequences [^\n]*; resume with --memory-limit [0-9]+MiB or more\n"));
  EXPECT_EQ(run(command + "--resume --memory-limit 2GB").status, 0);
  EXPECT_EQ(testing::read_text(folder_ / "capture.shards/00000.h5"),
            testing::read_text(folder_ / "whole.shards/00000.h5"));
}

TEST_F(LimeCaptureTest, TakesASequencePerLine) {
  write_text(folder_ / "lines.txt", "Once upon\n\nThe cat is here.\r\nAnd\n");
  const ProgramRun result = run("--checkpoint model --lines lines.txt");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("'<s>' prepended to each line (--bos auto)"));
  const CaptureReader reader(folder_ / "capture.h5");
  ASSERT_EQ(reader.num_sequences(), 3);
  EXPECT_EQ(reader.sequences()[1].text, "The cat is here.");
  EXPECT_THAT(run("info capture.h5").output, HasSubstr("1 shard\n"));
}

TEST_F(LimeCaptureTest, IsSilentWhereAsked) {
  const ProgramRun result = run(std::string(kCapture) + " --quiet");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.output, IsEmpty());
  EXPECT_THAT(result.errors, IsEmpty());
}

TEST_F(LimeCaptureTest, KeepsSpacesOfTheWordsAskedFor) {
  const ProgramRun result = run(std::string(kCapture) + " --only ' is, are, was, were'");
  EXPECT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr("' is' is token 259: "));
  EXPECT_THAT(result.output, HasSubstr("' were' is token 269: "));
  const CaptureReader reader(folder_ / "capture.h5");
  EXPECT_THAT(reader.info().class_names, ::testing::ElementsAre(" is", " are", " was", " were"));
}

TEST_F(LimeCaptureTest, IsReadByH5py) {
  ASSERT_EQ(run(std::string(kCapture) + " --layers 0,2").status, 0);
  const std::string script =
      "import h5py; f = h5py.File('capture.h5'); n = len(f['rows/token']); "
      "assert f['activations/values/002'].shape == (n, 12); "
      "assert f['activations/hidden/000'][:].dtype == 'float32'; "
      "assert f['statistics/keys/001/count'][()] == n; "
      "assert f.attrs['format'] in ('lime-capture', b'lime-capture'); "
      "assert f['sequences/offset'][-1] == n; "
      "m = f['statistics/hidden/002/mean'][:]; "
      "assert abs(f['activations/hidden/002'][:].astype('f8').mean(0) - m).max() < 1e-12";
  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    if (run_command(python + " -c 'import h5py'").status != 0) continue;
    const ProgramRun result = run_command(
        fmt::format("cd '{}' && {} -c \"{}\"", folder_.path().string(), python, script));
    EXPECT_EQ(result.status, 0) << result.errors;
    return;
  }
  GTEST_SKIP() << "needs a python3 with h5py (Debian: python3-h5py)";
}

TEST_F(LimeCaptureTest, ShowsVerifiesAndPacksACapture) {
  ASSERT_EQ(run(kCapture).status, 0);
  const ProgramRun info = run("info capture.h5");
  EXPECT_EQ(info.status, 0) << info.errors;
  EXPECT_THAT(info.output, HasSubstr("hidden            layers 0-2, 24 values per row"));
  EXPECT_THAT(info.output, HasSubstr("complete          yes"));
  EXPECT_THAT(info.output, HasSubstr("prepended         <s>"));
  EXPECT_THAT(info.output, HasSubstr("--seq-len 20"));
  EXPECT_EQ(run("verify capture.h5").status, 0);
  EXPECT_EQ(run("pack capture.h5 -o packed.h5").status, 0);
  fs::remove_all(folder_ / "capture.shards");
  EXPECT_THAT(run("info packed.h5").output, HasSubstr("one file"));
  EXPECT_EQ(run("verify packed.h5").status, 0);
  const ProgramRun lost = run("verify capture.h5");
  EXPECT_EQ(lost.status, 1);
  EXPECT_THAT(lost.errors, HasSubstr("00000.h5"));
  EXPECT_EQ(run("info text.txt").status, 1);
}

TEST_F(LimeCaptureTest, InfoAndVerifyEscapeWhatATerminalWouldObey) {
  const std::string file = "\"$(printf 'a\\033[31m\\nb.h5')\"";
  ASSERT_EQ(run("--checkpoint model --text text.txt --seq-len 20 --quiet -o " + file).status, 0);
  const ProgramRun info = run("info " + file);
  EXPECT_EQ(info.status, 0) << info.errors;
  EXPECT_THAT(info.output, HasSubstr("capture           a\\x1b[31m\\nb.h5\n"));
  EXPECT_THAT(info.output, ::testing::Not(HasSubstr("\x1b")));  // of the command too
  fs::remove_all(folder_ / "a\x1b[31m\nb.shards");
  const ProgramRun lost = run("verify " + file);
  EXPECT_EQ(lost.status, 1);
  EXPECT_THAT(lost.errors, HasSubstr("lime-capture: store: 'a\\x1b[31m\\nb.h5' needs 'a"));
  EXPECT_THAT(lost.errors, ::testing::Not(HasSubstr("\x1b")));
}

TEST_F(LimeCaptureTest, StoresThePackingAndComparesIt) {
  const std::string command = "--checkpoint model --text text.txt --seq-len 20 --packing lime-code";
  const ProgramRun result = run(command);
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(
      result.output,
      HasSubstr(
          "'<s>' before and an end-of-sequence token after each document (--packing lime-code)"));
  EXPECT_THAT(run("info capture.h5").output, HasSubstr("packing           lime-code\n"));
  EXPECT_EQ(run(command + " --resume").status, 0);
  const ProgramRun other = run("--checkpoint model --text text.txt --seq-len 20 --resume");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.errors, MatchesRegex("lime-capture: [^\n]*packing[^\n]*\n"));
  fs::remove(folder_ / "capture.h5");
  fs::remove_all(folder_ / "capture.shards");
  expect_refusal("--checkpoint model --lines text.txt --packing lime-code", 2,
                 "packing: lime-code applies to --text only; omit --packing");
  expect_refusal("--checkpoint model --lines text.txt --packing bos-each", 2,
                 "--packing: bos-each applies to --text and --tokens only, because other sequences "
                 "are not packed; omit --packing");
  expect_refusal("--checkpoint model --text text.txt --packing bos-each --bos never", 2,
                 "--bos: must be auto or always with --packing bos-each, got never");
  expect_refusal(command + " --bos never", 2, "bos: must be auto with --packing lime-code");
}

TEST_F(LimeCaptureTest, WarnsOfSequencesWithoutBosAndStoresTheirNumber) {
  const std::string command = "--checkpoint model --text text.txt --seq-len 20 --quiet ";
  const ProgramRun result = run(command + "--packing eos-between");
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.errors,
              MatchesRegex("lime-capture: warning: ([0-9]+) of [0-9]+ sequences do not begin with "
                           "'<s>', which the tokenizer puts before every text; [^\n]*; use "
                           "--packing bos-each\n"));
  EXPECT_THAT(run("info capture.h5").output,
              HasSubstr("sequences do not begin with '<s>', which the tokenizer puts"));
  ASSERT_EQ(run(command + "-o each.h5").errors, "");
  const ProgramRun info = run("info each.h5");
  EXPECT_THAT(info.output, HasSubstr("packing           bos-each\n"));
  EXPECT_THAT(info.output, ::testing::Not(HasSubstr("do not begin with")));
  ASSERT_EQ(run("--checkpoint model --lines text.txt --quiet -o lines.h5").status, 0);
  EXPECT_THAT(run("info lines.h5").output, ::testing::Not(HasSubstr("packing")));
}

TEST_F(LimeCaptureTest, WarnsOfSequencesBeyondTheTrainedContext) {
  const ProgramRun result = run("--checkpoint model --text text.txt --seq-len 65 --quiet");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.errors,
              MatchesRegex("lime-capture: warning: ([0-9]+) of [0-9]+ sequences are longer than "
                           "max_position_embeddings = 64, up to 65 tokens; the model's positions "
                           "are defined there, but it was not trained on them\n"));
}

TEST_F(LimeCaptureTest, FindsFlippedBytes) {
  ASSERT_EQ(run(kCapture).status, 0);
  const fs::path shard = folder_ / "capture.shards" / "00000.h5";
  std::fstream file(shard, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(fs::file_size(shard) / 2));
  file.put('\x55').put('\xaa').put('\x55');
  file.close();
  const ProgramRun result = run("verify capture.h5");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.errors, HasSubstr("00000.h5"));
}

TEST_F(LimeCaptureTest, CompressesWithoutLoss) {
  ASSERT_EQ(run(std::string(kCapture) + " -o plain.h5").status, 0);
  const std::string command = std::string(kCapture) + " --compress deflate -o small.h5";
  const ProgramRun result = run(command);
  ASSERT_EQ(result.status, 0) << result.errors;
  EXPECT_THAT(result.output, HasSubstr(" as float32 before compression; "));
  EXPECT_THAT(run("info small.h5").output, HasSubstr(" as float32, deflated, 1 shard"));
  EXPECT_EQ(run("verify small.h5").status, 0);
  EXPECT_EQ(run("pack small.h5 -o packed.h5").status, 0);
  EXPECT_THAT(run("info packed.h5").output, HasSubstr(" as float32, deflated, one file"));
  const CaptureReader plain(folder_ / "plain.h5");
  for (const char* const name : {"small.h5", "packed.h5"}) {
    const CaptureReader small(folder_ / name);
    EXPECT_EQ(small.rows().token, plain.rows().token);
    for (const char* const site : {"values", "hidden"}) {
      for (int layer = 0; layer < 3; ++layer) {
        EXPECT_EQ(small.read_all(site, layer), plain.read_all(site, layer));
        EXPECT_EQ(small.statistics(site, layer).mean, plain.statistics(site, layer).mean);
      }
    }
  }
  const ProgramRun other = run(std::string(kCapture) + " -o small.h5 --resume");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.errors, ::testing::AllOf(HasSubstr("was started with different options"),
                                             HasSubstr("compress")));
  EXPECT_EQ(run(command + " --resume").status, 0);
}

TEST_F(LimeCaptureTest, GoesOnCompressingWithAnyNumberOfThreads) {
  const std::string command =
      "--checkpoint model --text text.txt --seq-len 20 --compress deflate -o small.h5";
  ASSERT_EQ(run(command + " --threads 1").status, 0);
  const std::string whole = testing::read_text(folder_ / "small.shards/00000.h5");
  for (const char* const threads : {" --threads 3", " --threads 0"}) {
    for (const char* const file :
         {"small.h5", "small.shards/00000.json", "small.shards/00000.h5"}) {
      ASSERT_TRUE(fs::remove(folder_ / file));
    }
    const ProgramRun resumed = run(command + " --resume" + threads);
    ASSERT_EQ(resumed.status, 0) << resumed.errors;
    EXPECT_EQ(testing::read_text(folder_ / "small.shards/00000.h5"), whole) << threads;
  }
}

/// A run that is long enough to be killed after its second of four shards.
class LimeCaptureEndedTest : public LimeCaptureTest,
                             public ::testing::WithParamInterface<const char*> {
 protected:
  LimeCaptureEndedTest() { write_text(folder_ / "long.txt", testing::tiny_text(40000)); }
};

constexpr const char* kLong =
    "--checkpoint model --text long.txt --batch-size 2 --threads 1 --quiet";

TEST_P(LimeCaptureEndedTest, GoesOnWithEqualBits) {
  const std::string signal = GetParam();
  const ProgramRun ended = run_command(fmt::format(
      "cd '{0}' && {1} {2} & pid=$!; cd '{0}'; while [ ! -e capture.shards/00001.json ] && "
      "kill -0 $pid; do sleep 0.01; done; kill -{3} $pid; wait $pid",
      folder_.path().string(), LIME_CAPTURE, kLong, signal));
  if (signal == "TERM") {
    EXPECT_EQ(ended.status, 130);
    EXPECT_THAT(ended.errors, HasSubstr("the same command with --resume resumes"));
    const CaptureReader partial(folder_ / "capture.h5");
    EXPECT_FALSE(partial.complete());
    EXPECT_THAT(run("info capture.h5").output, HasSubstr("no; use --resume to continue"));
  } else {
    EXPECT_FALSE(fs::exists(folder_ / "capture.h5"));
    expect_refusal("info capture.h5", 1, "'capture.shards' contains an unfinished run (2 of ");
    expect_refusal(kLong, 1,
                   "contains finished shards of an earlier run; use --resume to continue");
  }
  const ProgramRun resumed = run(std::string(kLong) + " --resume");
  ASSERT_EQ(resumed.status, 0) << resumed.errors;
  ASSERT_EQ(run(std::string(kLong) + " -o whole.h5").status, 0);
  const CaptureReader a(folder_ / "capture.h5");
  const CaptureReader b(folder_ / "whole.h5");
  ASSERT_TRUE(a.complete());
  ASSERT_EQ(a.num_rows(), b.num_rows());
  EXPECT_TRUE(a.read_all("hidden", 2) == b.read_all("hidden", 2));
  EXPECT_EQ(a.statistics("keys", 2).m2, b.statistics("keys", 2).m2);
  for (const auto& entry : fs::directory_iterator(folder_ / "capture.shards")) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".part"))) << "left behind";
  }
}

INSTANTIATE_TEST_SUITE_P(Signals, LimeCaptureEndedTest, ::testing::Values("TERM", "KILL"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace lime
