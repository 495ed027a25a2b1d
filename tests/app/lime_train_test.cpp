// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/json.h"
#include "support/sanitizers.h"
#include "support/test_data.h"

extern char** environ;

namespace lime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::ProgramRun;
using testing::run_command;
using testing::TemporaryFolder;

const std::string kProgram = LIME_TRAIN;

using Options = std::map<std::string, std::string>;

std::string text_of(Options options, const Options& changes) {
  for (const auto& [name, value] : changes) options[name] = value;
  std::string text;
  for (const auto& [name, value] : options) text += " --" + name + " " + value;
  return text;
}

/// Options of a run of 60 steps that takes about a second, for any task.
const Options kTinyTraining = {{"decoder", "lime"},
                               {"hidden-size", "16"},
                               {"num-hidden-layers", "2"},
                               {"num-attention-heads", "2"},
                               {"steps", "60"},
                               {"batch-size", "16"},
                               {"save-every", "7"},
                               {"log-every", "1"},
                               {"validate-every", "30"},
                               {"warmup-steps", "5"},
                               {"learning-rate", "1e-3"},
                               {"seed", "5"},
                               {"threads", "1"}};

/// Returns the options of such a run on expressions, with some of them changed.
std::string tiny_run(const Options& changes = {}) {
  Options options = kTinyTraining;
  options.insert({{"task", "aet"},
                  {"operands", "2"},
                  {"max-value", "20"},
                  {"train-samples", "100"},
                  {"test-samples", "20"}});
  return text_of(options, changes);
}

/// Returns the options of such a run on another task, with that task's defaults.
std::string tiny_run_of(const std::string& task, const Options& changes = {}) {
  Options options = kTinyTraining;
  options["task"] = task;
  return text_of(options, changes);
}

/// Parses the steps in a log that may end in the middle of a line: step -> loss, as text.
std::map<int, std::string> losses_in(const fs::path& log) {
  std::ifstream stream(log);
  std::map<int, std::string> losses;
  for (std::string line; std::getline(stream, line);) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json["event"] == "step") losses[json["step"]] = json["loss"].dump();
  }
  return losses;
}

/// A child process that can be sent signals.
class Child {
 public:
  explicit Child(const std::string& command) {
    std::vector<std::string> words = {"sh", "-c", "exec " + command + " >/dev/null 2>&1"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (::posix_spawnp(&pid_, "sh", nullptr, nullptr, arguments.data(), environ) != 0) pid_ = -1;
  }

  /// Sends `signal` and waits for the end. @return exit status as in a shell: 128 + n for signal n.
  int end_with(int signal) const {
    int status = 0;
    ::kill(pid_, signal);
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
};

void wait_for_step(const fs::path& log, int step) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < limit) {
    const auto losses = losses_in(log);
    if (!losses.empty() && losses.rbegin()->first >= step) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  FAIL() << "step " << step << " was not reached in a minute";
}

class LimeTrainTest : public ::testing::Test {
 protected:
  ProgramRun train(const std::string& options) const {
    return run_command("cd '" + folder_.path().string() + "' && '" + kProgram + "' " + options);
  }

  TemporaryFolder folder_;
};

TEST_F(LimeTrainTest, AKilledRunGoesOnToTheBit) {
  ASSERT_EQ(train(tiny_run() + " --quiet -o whole").status, 0);
  const fs::path log = folder_ / "killed/training_log.jsonl";
  const Child child("'" + kProgram + "'" + tiny_run() + " --quiet -o '" +
                    (folder_ / "killed").string() + "'");
  wait_for_step(log, 17);
  EXPECT_EQ(child.end_with(SIGKILL), 128 + SIGKILL);
  ASSERT_LT(losses_in(log).size(), 60U) << "killed too late to test anything";

  const ProgramRun resumed = train(tiny_run() + " --resume -o killed");
  EXPECT_EQ(resumed.status, 0) << resumed.errors;
  EXPECT_THAT(resumed.output, HasSubstr("trained 'killed': 60 steps ("));
  const auto whole = losses_in(folder_ / "whole/training_log.jsonl");
  EXPECT_EQ(whole.size(), 60U);
  EXPECT_EQ(losses_in(log), whole);
  EXPECT_EQ(testing::read_text(folder_ / "killed/model.safetensors"),
            testing::read_text(folder_ / "whole/model.safetensors"));
}

TEST_F(LimeTrainTest, SigtermSavesTheStateAndExitsWith130) {
  const std::string long_run = tiny_run({{"steps", "100000"}, {"save-every", "100000"}});
  const fs::path folder = folder_ / "stopped";
  const Child child("'" + kProgram + "'" + long_run + " --quiet -o '" + folder.string() + "'");
  wait_for_step(folder / "training_log.jsonl", 3);
  EXPECT_EQ(child.end_with(SIGTERM), 130);
  EXPECT_TRUE(fs::exists(folder / "training_state.safetensors"));
  EXPECT_TRUE(fs::exists(folder / "model.safetensors"));
  EXPECT_THAT(testing::read_text(folder / "training_log.jsonl"),
              HasSubstr("\"event\":\"interrupted\""));
}

TEST_F(LimeTrainTest, AFullDiskLeavesTheLastWholeState) {
  const std::string wide_run = tiny_run({{"hidden-size", "64"}, {"steps", "2"}});
  ASSERT_EQ(train(wide_run + " --quiet -o model").status, 0);
  const std::string state = testing::read_text(folder_ / "model/training_state.safetensors");
  // File size limit of 64 blocks: enough for the log, not for the state.
  const ProgramRun run =
      run_command("trap '' XFSZ; ulimit -f 64; cd '" + folder_.path().string() + "' && '" +
                  kProgram + "'" + wide_run + " --quiet -o model --resume");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, HasSubstr("cannot be written"));
  EXPECT_EQ(testing::read_text(folder_ / "model/training_state.safetensors"), state);
  for (const auto& entry : fs::directory_iterator(folder_ / "model")) {
    EXPECT_EQ(entry.path().filename().string().find(".part"), std::string::npos) << entry.path();
  }
}

/// Started like by torchrun, srun and mpirun.
TEST_F(LimeTrainTest, TwoProcessesTrainAsOneWithTheDoubledBatch) {
  const std::string half = tiny_run({{"batch-size", "8"}, {"steps", "20"}}) + " -o both";
  const std::string port = std::to_string(20000 + ::getpid() % 20000);
  const std::string place = " WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" + port + " '";
  const ProgramRun both =
      run_command("cd '" + folder_.path().string() + "' && { RANK=1" + place + kProgram + "' " +
                  half + " >second.txt 2>&1 & RANK=0" + place + kProgram + "' " + half +
                  "; status=$?; wait; exit $status; }");
  if (both.errors.find("no distributed back end") != std::string::npos) {
    GTEST_SKIP() << both.errors;
  }
  ASSERT_EQ(both.status, 0) << both.errors << testing::read_text(folder_ / "second.txt");
  EXPECT_THAT(both.output, HasSubstr("2 processes, batches of 16 sequences in total"));
  EXPECT_EQ(testing::read_text(folder_ / "second.txt"), "");

  ASSERT_EQ(train(tiny_run({{"steps", "20"}}) + " --quiet -o one").status, 0);
  const auto of_both = losses_in(folder_ / "both/training_log.jsonl");
  const auto of_one = losses_in(folder_ / "one/training_log.jsonl");
  ASSERT_EQ(of_both.size(), 20U);
  ASSERT_EQ(of_one.size(), 20U);
  for (const auto& [step, loss] : of_one) {
    // Sums of float32 in another order, over 20 steps.
    EXPECT_NEAR(std::stod(of_both.at(step)), std::stod(loss), 1e-4) << step;
  }
}

/// Returns the environment of one of two processes that connect on a port unique to this test.
std::string place_of(int rank) {
  return "RANK=" + std::to_string(rank) + " WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=" +
         std::to_string(20000 + (::getpid() + 7) % 20000) + " ";
}

class LimeTrainProcessesTest : public LimeTrainTest {
 protected:
  void SetUp() override {
    const ProgramRun run =
        run_command(place_of(0) + "'" + kProgram + "'" + tiny_run({{"meeting-timeout", "1"}}) +
                    " -o '" + (folder_ / "m").string() + "'");
    if (run.errors.find("no distributed back end") != std::string::npos) {
      GTEST_SKIP() << run.errors;
    }
  }
};

TEST_F(LimeTrainProcessesTest, AMissingOneIsNotWaitedForAfterSigterm) {
  for (const int rank : {0, 1}) {
    const ProgramRun run = run_command("cd '" + folder_.path().string() + "' && " + place_of(rank) +
                                       "timeout --preserve-status -k 60 5 '" + kProgram + "'" +
                                       tiny_run() + " -o alone");
    EXPECT_EQ(run.status, 130) << run.errors;
    EXPECT_THAT(run.errors, HasSubstr("lime-train: processes: stopped while waiting for process " +
                                      std::to_string(1 - rank) + " of 2 at 127.0.0.1:"));
    EXPECT_EQ(std::count(run.errors.begin(), run.errors.end(), '\n'), 1) << run.errors;
  }
  EXPECT_FALSE(fs::exists(folder_ / "alone"));
}

TEST_F(LimeTrainProcessesTest, NamesTheProcessThatHasNotComeInTime) {
  for (const int rank : {0, 1}) {
    const ProgramRun run =
        run_command("cd '" + folder_.path().string() + "' && " + place_of(rank) + "'" + kProgram +
                    "'" + tiny_run({{"rendezvous-timeout", "1"}}) + " -o alone");
    EXPECT_EQ(run.status, 1);
    EXPECT_THAT(run.errors, HasSubstr("processes: process " + std::to_string(1 - rank) +
                                      " of 2 did not connect to 127.0.0.1:"));
    EXPECT_THAT(run.errors, HasSubstr(" within 1 s; start all of them, or wait longer"));
    EXPECT_EQ(std::count(run.errors.begin(), run.errors.end(), '\n'), 1) << run.errors;
  }
}

TEST_F(LimeTrainProcessesTest, SigtermToOneOfTwoSavesAndEndsBoth) {
  const std::string run = "'" + kProgram + "'" +
                          tiny_run({{"steps", "100000"}, {"save-every", "100000"}}) +
                          " --quiet -o '" + (folder_ / "both").string() + "'";
  const Child first("env " + place_of(0) + run);
  const Child second("env " + place_of(1) + run);
  wait_for_step(folder_ / "both/training_log.jsonl", 3);
  EXPECT_EQ(second.end_with(SIGTERM), 130);
  EXPECT_EQ(first.end_with(0), 130);
  EXPECT_TRUE(fs::exists(folder_ / "both/training_state.safetensors"));
}

TEST_F(LimeTrainTest, RefusesARankThatCannotBe) {
  const ProgramRun run =
      run_command("cd '" + folder_.path().string() + "' && RANK=2 WORLD_SIZE=2 '" + kProgram + "'" +
                  tiny_run() + " -o m");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.errors, HasSubstr("RANK: must be a whole number from 0 to 1, got '2'"));
}

TEST_F(LimeTrainTest, ComputesBlocksAgainWithTheSameLosses) {
  ASSERT_EQ(train(tiny_run({{"steps", "5"}}) + " --quiet -o kept").status, 0);
  ASSERT_EQ(
      train(tiny_run({{"steps", "5"}}) + " --quiet --activation-checkpointing -o again").status, 0);
  EXPECT_EQ(losses_in(folder_ / "again/training_log.jsonl"),
            losses_in(folder_ / "kept/training_log.jsonl"));
}

TEST_F(LimeTrainTest, PrintsTheAccuracyPerNumberOfOperands) {
  const ProgramRun run = train(tiny_run({{"operands", "2,3"}, {"steps", "2"}}) + " -o model");
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("trained 'model': 2 steps in "));
  EXPECT_THAT(run.output, HasSubstr("operands  accuracy  expressions\n       2  "));
  EXPECT_THAT(run.output, HasSubstr("\n       3  "));
}

TEST_F(LimeTrainTest, TrainsALanguageModelOnAText) {
  if (testing::kIsSanitized) GTEST_SKIP() << testing::kProtobufClash;
  std::string text;
  for (int i = 0; i < 200; ++i) text += "Line " + std::to_string(i) + " of a small book.\n";
  testing::write_text(folder_ / "book.txt", text);
  const std::string options = tiny_run_of("lm", {{"steps", "4"}}) +
                              " --sequence-length 16 --validation-fraction 0.2 --text book.txt";
  const ProgramRun run = train(options + " --vocab-size 300 -o model");
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_THAT(run.output, HasSubstr("trained 'model': 4 steps in "));
  EXPECT_THAT(run.output, HasSubstr(", held-out loss "));
  EXPECT_TRUE(fs::exists(folder_ / "model/tokenizer.model"));
  EXPECT_TRUE(fs::exists(folder_ / "model.tokens/tokens.json"));

  const ProgramRun again = train(options + " --tokenizer model --tokens model.tokens -o other");
  EXPECT_EQ(again.status, 0) << again.errors;
  EXPECT_EQ(testing::read_text(folder_ / "other/model.safetensors"),
            testing::read_text(folder_ / "model/model.safetensors"));
}

TEST_F(LimeTrainTest, TrainsOnWhatItGenerates) {
  ASSERT_EQ(train("generate --task aet --operands 2 --max-value 20 --count 30 -o aet.txt").status,
            0);
  testing::write_text(folder_ / "test.txt", "2 x 3 - 1 = 6 - 1 = 5\n");
  const ProgramRun aet = train(tiny_run_of("aet", {{"steps", "2"}, {"max-value", "20"}}) +
                               " --train-file aet.txt --test-file test.txt -o aet");
  EXPECT_EQ(aet.status, 0) << aet.errors;
  EXPECT_THAT(aet.output, HasSubstr("operands  accuracy  expressions\n       3  "));

  const std::string generate = "generate --task prosqa --count 8 --seed ";
  ASSERT_EQ(train(generate + "1 -o train.json").status, 0);
  const ProgramRun shown = train(generate + "2");
  EXPECT_EQ(Json::parse(shown.output).size(), 8U);
  testing::write_text(folder_ / "test.json", shown.output);
  const ProgramRun prosqa = train(tiny_run_of("prosqa", {{"steps", "2"}}) +
                                  " --train-file train.json --test-file test.json -o prosqa");
  EXPECT_EQ(prosqa.status, 0) << prosqa.errors;
  EXPECT_THAT(prosqa.output, HasSubstr("% of 8 questions, with a correct proof: "));
}

TEST_F(LimeTrainTest, BadInputGetsOneLine) {
  const auto fails = [&](const std::string& options, int status, const std::string& message) {
    const ProgramRun run = train(options);
    EXPECT_EQ(run.status, status) << options;
    EXPECT_THAT(run.errors, HasSubstr(message)) << options;
    EXPECT_EQ(std::count(run.errors.begin(), run.errors.end(), '\n'), 1) << run.errors;
  };
  fails(tiny_run(), 2, "--output: must name a folder, got none; add -o DIR");
  fails(tiny_run({{"task", "chess"}}) + " -o m", 2, "aet");
  fails(tiny_run_of("lm") + " -o m", 1, "--text: must name at least one file, got none");
  fails(tiny_run_of("lm") + " --text none.txt --vocab-size 300 -o m", 1, "none.txt");
  fails(tiny_run_of("lm") + " --text none.txt --test-file t -o m", 2,
        "--test-file: must not be given with --task lm, which is trained on --text");
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);  // it has no writer
  const std::string refusal = "'fifo': is not a regular file, expected one";
  fails(tiny_run_of("lm") + " --text fifo --vocab-size 300 -o m", 1, refusal);
  fails(tiny_run_of("aet") + " --train-file fifo -o m", 1, refusal);
  fails(tiny_run_of("prosqa") + " --train-file fifo -o m", 1, refusal);
  testing::write_text(folder_ / "wrong.txt", "3 + 4 = 8\n");
  fails(tiny_run_of("aet", {{"max-value", "20"}}) + " --train-file wrong.txt -o m", 1,
        "'wrong.txt', line 1: word 5 must be '7', got '8'");
  fails(tiny_run_of("prosqa") + " --train-file wrong.txt -o m", 1, "wrong.txt");
  fails(tiny_run({{"operands", "11"}}) + " -o m", 2, "--operands: must be from 2 to 10, got 11");
  fails(tiny_run({{"learning-rate", "0"}}) + " -o m", 2, "--learning-rate: must be > 0, got 0");
  fails(tiny_run({{"num-attention-heads", "3"}}) + " -o m", 1,
        "lime-train: --hidden-size: must be a multiple of the 3 attention heads, got 16");
  fails(tiny_run({{"router", "last"}, {"router-j", "3"}}) + " -o m", 1,
        "'j' must be from 1 to 2, got 3");
  fails(tiny_run({{"decoder", "hyper_connections"}, {"hyper-rate", "0"}}) + " -o m", 1,
        "'rate' must be from 1 to ");
  fs::create_directory(folder_ / "empty");
  fails(tiny_run_of("lm") + " --text empty --vocab-size 300 -o m", 1,
        "--text: the folder 'empty' must contain .txt or .jsonl files, got none");
  testing::write_text(folder_ / "short.txt", "Too little for many pieces.\n");
  if (!testing::kIsSanitized) {  // kProtobufClash
    fails(tiny_run_of("lm") + " --text short.txt --vocab-size 3000 -o m", 1,
          "--vocab-size: cannot learn 3000 pieces from the text, got");
  }
  fails(tiny_run() + " --autocast -o m", 2, "--autocast: bfloat16 is for CUDA, got device 'cpu'");
  fails(tiny_run() + " -o no/such/folder", 1,
        "the folder cannot be created: No such file or directory");
  fails(tiny_run({{"learning-rate", "1e25"}, {"save-every", "1"}}) + " -o m", 1,
        "must stay finite, got ");
  fails(tiny_run({{"learning-rate", "1e24"}, {"save-every", "1"}}) + " -o m --resume", 1,
        "has training.learning_rate = 1e+25, got 1e+24");
}

TEST_F(LimeTrainTest, OptionsWithoutUseAreRefused) {
  const auto refuses = [&](const std::string& options, const std::string& message) {
    const ProgramRun run = train(options + " -o m");
    EXPECT_EQ(run.status, 2) << options;
    EXPECT_THAT(run.errors, HasSubstr("lime-train: " + message)) << options;
    EXPECT_EQ(std::count(run.errors.begin(), run.errors.end(), '\n'), 1) << run.errors;
    EXPECT_FALSE(fs::exists(folder_ / "m"));
  };
  refuses("--router last --router-j 2",
          "--router: requires --decoder lime, got --decoder llama; select that, or omit it");
  refuses("--decoder llama --hyper-rate 2",
          "--hyper-rate: requires --decoder hyper_connections, got --decoder llama");
  refuses("--decoder lime --first-layer-only",
          "--first-layer-only: requires --decoder resformer, got --decoder lime --router full");
  refuses("--decoder lime --router full --router-j 3",
          "--router-j: requires --decoder lime and --router last, first, first-and-previous or "
          "dilated, got --decoder lime --router full");
  refuses("--decoder llama --router-learning-rate 1e-2",
          "--router-learning-rate: requires --decoder lime and a router with weights");
  refuses("--decoder lime --dynamic-router --router-initializer-scale 0",
          "--router-initializer-scale: requires --decoder lime and a static router");
  refuses("--task aet --text foo", "--text: requires --task lm, got --task aet; omit it");
  refuses("--task aet --vocab-size 300", "--vocab-size: requires --task lm");
  refuses("--task prosqa --sequence-length 64", "--sequence-length: requires --task lm");
  refuses("--task lm --operands 3", "--operands: requires --task aet, got --task lm");
  refuses("--task aet --train-file f --train-samples 9",
          "--train-samples: must not be given with --train-file, whose samples are all used");
  refuses("--task prosqa --test-file f --test-problems 9",
          "--test-problems: must not be given with --test-file, whose samples are all used");
  refuses("--task aet --train-problems 9", "--train-problems: requires --task prosqa");

  const std::string from = " --from '" + testing::source_file("data/aet-lime").string() + "'";
  refuses("--hidden-size 64" + from, "--hidden-size: must be that of '");
  refuses("--decoder llama" + from, "--decoder: must be that of '");
  refuses("--router last --router-j 2" + from, "--router: must be that of '");
  refuses("--hyper-rate 4" + from, "--hyper-rate: requires --decoder hyper_connections, got ");
}

TEST_F(LimeTrainTest, GoesOnFromACheckpointWithItsOwnWordsOnly) {
  const std::string run =
      "--task aet --operands 2 --train-samples 20 --test-samples 2 --steps 1 --batch-size 4 "
      "--threads 1 --quiet --from '";
  const std::string expressions = testing::source_file("data/aet-lime").string() + "'";
  const ProgramRun shifted = train(run + expressions + " --min-value -20 --max-value 60 -o m");
  EXPECT_EQ(shifted.status, 1);
  EXPECT_THAT(shifted.errors,
              HasSubstr("must have the words of expressions from -20 to 60 in their order, '-20' "
                        "as token 10, got none; start from a model"));
  if (!testing::kIsSanitized) {  // kProtobufClash
    const ProgramRun other = train(run + testing::source_file("data/lm-llama").string() + "' -o m");
    EXPECT_EQ(other.status, 1);
    EXPECT_THAT(other.errors, HasSubstr("data/lm-llama' must have the words of expressions"));
  }
  EXPECT_FALSE(fs::exists(folder_ / "m"));

  const ProgramRun narrower =
      train(run + expressions + " --decoder lime --router full --max-value 60 -o narrower");
  EXPECT_EQ(narrower.status, 0) << narrower.errors;
  EXPECT_EQ(testing::read_text(folder_ / "narrower/tokenizer.json"),
            testing::read_text(testing::source_file("data/aet-lime/tokenizer.json")));
}

TEST_F(LimeTrainTest, GeneratesExpressionsOnePerLine) {
  const std::string options = "generate --task aet --operands 3,4 --count 5 --seed 2";
  const ProgramRun run = train(options);
  EXPECT_EQ(run.status, 0) << run.errors;
  EXPECT_EQ(std::count(run.output.begin(), run.output.end(), '\n'), 5);
  EXPECT_THAT(run.output, HasSubstr(" = "));
  EXPECT_EQ(train(options + " -o expressions.txt").output, "");
  EXPECT_EQ(testing::read_text(folder_ / "expressions.txt"), run.output);
  EXPECT_THAT(train(options + " --form expression").output, ::testing::Not(HasSubstr("=")));
}

}  // namespace
}  // namespace lime
