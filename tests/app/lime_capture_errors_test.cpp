// SPDX-License-Identifier: Apache-2.0
// Errors of lime-capture: one line, the exit status, and no file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "app/lime_capture_fixture.h"
#include "capture/npy_file.h"
#include "core/files/output_lock.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::kCapture;
using testing::LimeCaptureTest;
using ::testing::MatchesRegex;
using testing::ProgramRun;
using testing::run_command;
using testing::write_text;

TEST_F(LimeCaptureTest, WrongUsageExitsWithTwo) {
  expect_refusal("--text text.txt", 2, "--checkpoint");
  expect_refusal("--checkpoint model", 2, "exactly one of --text, --lines, --views, --tokens");
  expect_refusal("--checkpoint model --text text.txt --sits values", 2, "did you mean '--sites'?");
  expect_refusal(std::string(kCapture) + " --sites vals", 2,
                 "unknown site 'vals' (supported: values, routed_values, hidden, keys");
  expect_refusal(std::string(kCapture) + " --sites value", 2,
                 "unknown site 'value'; did you mean 'values'?");
  expect_refusal("--checkpoint model text.txt", 2,
                 "unknown command 'text.txt' (available: sweep, gauge, info, verify, pack); pass "
                 "text with --text");
  expect_refusal(std::string(kCapture) + " --shard 2/2", 2, "0 <= I < N");
  expect_refusal(std::string(kCapture) + " --rows mean --only ' is'", 2, "--only: selects tokens");
  expect_refusal(std::string(kCapture) + " --layers 3-1", 2, "--layers");
  EXPECT_EQ(run("--help").status, 0);
  EXPECT_THAT(run("--help").output, HasSubstr("lime-capture --checkpoint models/llama --text"));
}

TEST_F(LimeCaptureTest, BadInputExitsWithOne) {
  write_text(folder_ / "empty.txt", "");
  write_text(folder_ / "latin1.txt", "caf\xe9");
  write_text(folder_ / "ids.npy", testing::npy_int32({1, 2, 3, 999}, "(2, 2)"));
  write_text(folder_ / "pairs.jsonl", "{\"sentence_good\": 1}\n");
  expect_refusal("--checkpoint none --text text.txt", 1, "'none'");
  expect_refusal("--checkpoint model --text none.txt", 1, "'none.txt'");
  expect_refusal("--checkpoint model --text empty.txt", 1, "'empty.txt': text must not be empty");
  expect_refusal("--checkpoint model --text latin1.txt", 1,
                 "'latin1.txt': text must be UTF-8, byte 3 is not");
  expect_refusal("--checkpoint model --tokens ids.npy", 1,
                 "'ids.npy': token ids must be in [0, 280), got 999 at [1, 1]");
  expect_refusal("--checkpoint model --tokens text.txt", 1, "is not a .npy file");
  expect_refusal("--checkpoint model --pairs pairs.jsonl", 1, "'pairs.jsonl' line 1");
  expect_refusal("--checkpoint model --lines empty.txt", 1,
                 "'empty.txt': must have a line of text");
  expect_refusal("--checkpoint model --lines latin1.txt", 1,
                 "'latin1.txt': text must be UTF-8, byte 3 is not");
  expect_refusal(std::string(kCapture) + " --only ' is, cat'", 1,
                 "' cat' is several (' ', 'c', 'a', 't')");
  expect_refusal(std::string(kCapture) + " --layers 0-3", 1, "3");
  expect_refusal(std::string(kCapture) + " --device cuda:77", 1, "cuda");
  write_text(folder_ / "model" / "config.json", "{\"model_type\": \"llama\",");
  expect_refusal("--checkpoint model --text text.txt", 1, "config.json");
}

// The FIFO has no writer: opening it for reading would block forever.
TEST_F(LimeCaptureTest, RefusesAFifoAtOnce) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  for (const char* const input : {"--text", "--lines", "--pairs", "--tokens"}) {
    expect_refusal(fmt::format("--checkpoint model {} fifo", input), 1,
                   "'fifo': is not a regular file, expected one", "timeout -k 1 20");
  }
  for (const char* const name :
       {"config.json", "tokenizer_config.json", "tokenizer.json", "model.safetensors"}) {
    const fs::path file = folder_ / "model" / name;
    const fs::path aside = folder_ / "aside";
    const bool is_there = fs::exists(file);
    if (is_there) fs::rename(file, aside);
    fs::create_symlink("../fifo", file);
    expect_refusal("--checkpoint model --text text.txt", 1,
                   fmt::format("model/{}': is not a regular file, expected one", name),
                   "timeout -k 1 20");
    fs::remove(file);
    if (is_there) fs::rename(aside, file);
  }
}

TEST_F(LimeCaptureTest, ReplacesNoFifo) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  ASSERT_EQ(run(kCapture).status, 0);
  for (const std::string& arguments :
       {std::string("pack capture.h5 -o fifo"), std::string(kCapture) + " -o fifo",
        std::string(kCapture) + " -o fifo --resume"}) {
    const ProgramRun result = run(arguments, "timeout -k 1 20");
    EXPECT_EQ(result.status, 1) << arguments;
    EXPECT_THAT(result.errors, MatchesRegex("lime-capture: [^\n]*'fifo'[^\n]*\n"));
    EXPECT_TRUE(fs::is_fifo(folder_ / "fifo")) << arguments;
  }
}

TEST_F(LimeCaptureTest, FailsWhereNothingCanBePrinted) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  ASSERT_EQ(run(kCapture).status, 0);
  for (const char* const command : {"--help", "info capture.h5", "verify capture.h5"}) {
    const ProgramRun result = run(std::string(command) + " > /dev/full");
    EXPECT_EQ(result.status, 1) << command;
    EXPECT_EQ(result.errors,
              "lime-capture: standard output: cannot be written: No space left on device; free "
              "some space or write elsewhere\n");
  }
}

TEST_F(LimeCaptureTest, RefusesToOverwriteAnything) {
  ASSERT_EQ(run(kCapture).status, 0);
  const std::string before = testing::read_text(folder_ / "capture.h5");
  const ProgramRun again = run(kCapture);
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.errors, HasSubstr("'capture.h5' already exists; use --resume to continue"));
  const ProgramRun other = run(std::string(kCapture) + " --resume --store float16");
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.errors, HasSubstr("was started with different options"));
  write_text(folder_ / "notes.h5", "mine");
  EXPECT_EQ(run(std::string(kCapture) + " -o notes.h5").status, 1);
  EXPECT_EQ(run(std::string(kCapture) + " -o notes.h5 --resume").status, 1);
  EXPECT_EQ(testing::read_text(folder_ / "notes.h5"), "mine");
  EXPECT_EQ(testing::read_text(folder_ / "capture.h5"), before);
}

TEST_F(LimeCaptureTest, RefusesToShareAFolderOfShards) {
  const OutputLock other(folder_ / "x.shards", {}, folder_ / "x.hdf5");
  const ProgramRun refused = run(std::string(kCapture) + " -o x.h5");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(
      refused.errors,
      MatchesRegex("lime-capture: 'x.shards': process [0-9]+ on '[^\n]*' \\(for 'x.hdf5'\\) is "
                   "writing to it; wait until it is done or use another name\n"));
  EXPECT_EQ(run(std::string(kCapture) + " -o x.0.5").status, 0);
  EXPECT_EQ(run("pack x.0.5").status, 0);
  EXPECT_EQ(run("verify x.0.5.packed.h5").status, 0);
}

TEST_F(LimeCaptureTest, SaysThatTheDiskIsFull) {
  write_text(folder_ / "long.txt", testing::tiny_text(4000));
  // File size limit of 100 blocks of 512 or 1024 bytes, like a full disk.
  expect_refusal("--checkpoint model --text long.txt", 1, "capture",
                 "trap '' XFSZ; ulimit -f 100;");
  const ProgramRun after = run("--checkpoint model --text long.txt --resume --quiet");
  EXPECT_EQ(after.status, 0) << after.errors;
}

TEST_F(LimeCaptureTest, SaysThatItMayNotWriteThere) {
  expect_refusal(std::string(kCapture) + " -o none/capture.h5", 1,
                 "the folder 'none' does not exist");
  expect_refusal(std::string(kCapture) + " -o /proc/capture.h5", 1, "'/proc/capture.h5'");
  expect_refusal(std::string(kCapture) + " -o model", 1,
                 "'model' is a folder, expected a file; pass e.g. -o 'model/capture.h5'");
}

}  // namespace
}  // namespace lime
