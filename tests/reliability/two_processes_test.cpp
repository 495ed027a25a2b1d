// SPDX-License-Identifier: Apache-2.0
// A second process on the output of the first is told at once.
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "reliability/programs.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using testing::Child;
using ::testing::IsEmpty;
using testing::leftovers;
using ::testing::MatchesRegex;
using testing::ProgramRun;
using testing::read_text;

class TwoProcessesTest : public testing::ReliabilityTest {
 protected:
  /// Starts `command` in the folder `out`, stops it as soon as `lock` is there, and lets a second
  /// process try `second`; then the first goes on to its end.
  void expect_told(const std::string& command, const std::string& lock,
                   const std::string& second) const {
    Child first(shell("exec " + command, "out"), folder_ / "log");
    while (first.runs() && !fs::exists(folder_ / "out" / lock)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    first.send(SIGSTOP);
    ASSERT_TRUE(first.runs()) << read_text(folder_ / "log");
    const ProgramRun told = run(second, "out");
    first.send(SIGCONT);
    EXPECT_EQ(told.status, 1) << second;
    EXPECT_THAT(told.errors,
                MatchesRegex("lime-[a-z]+: '[^\n]*': (process [0-9]+ on '[^\n]*'|another process) "
                             "is writing it; wait until it is done or choose another name\n"));
    EXPECT_EQ(first.wait(), 0) << read_text(folder_ / "log");
    EXPECT_THAT(leftovers(folder_ / "out"), IsEmpty());
  }

  void SetUp() override { fs::create_directory(folder_ / "out"); }
};

TEST_F(TwoProcessesTest, CaptureIsTold) {
  const std::string command = capture_command(65536);
  expect_told(command, ".capture.h5.lock", command + " --resume");
}

TEST_F(TwoProcessesTest, CaptureThatIsSharedIsTold) {
  const std::string command = capture_command(65536) + " --shard 0/2";
  Child first(shell("exec " + command, "out"), folder_ / "log");
  while (first.runs() && !fs::exists(folder_ / "out/.capture.h5.0-of-2.lock")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  first.send(SIGSTOP);
  EXPECT_EQ(run(command, "out").status, 1) << "the same share twice";
  EXPECT_EQ(run(capture_command(65536), "out").status, 1) << "one that does all";
  EXPECT_EQ(run(capture_command(65536) + " --shard 1/2", "out").status, 0) << "another share";
  first.send(SIGCONT);
  EXPECT_EQ(first.wait(), 0) << read_text(folder_ / "log");
  EXPECT_TRUE(fs::exists(folder_ / "out/capture.h5"));
  EXPECT_THAT(leftovers(folder_ / "out"), IsEmpty());
}

TEST_F(TwoProcessesTest, PackIsTold) {
  ASSERT_EQ(run(capture_command(65536), "out").status, 0);
  const std::string command = "lime-capture pack capture.h5 -o packed.h5 --quiet";
  expect_told(command, ".packed.h5.lock", command);
}

TEST_F(TwoProcessesTest, MetricsAreTold) {
  ASSERT_EQ(run(capture_command(65536), "out").status, 0);
  const std::string command = "lime-metrics entropy capture.h5 --quiet --threads 1 -o ";
  expect_told(command + "e.json", ".e.json.lock", command + "e.json --resume");
  expect_told(command + "f.json -o f.csv", ".f.csv.lock", command + "f.csv");
}

TEST_F(TwoProcessesTest, TrainingIsTold) {
  const std::string command =
      "lime-train --task aet --operands 2 --max-value 20 --train-samples 40 --test-samples 4 "
      "--hidden-size 16 --num-hidden-layers 2 --num-attention-heads 2 --steps 200 --batch-size 8 "
      "--quiet -o model --resume";
  expect_told(command, "model/.training_state.safetensors.lock", command);
}

}  // namespace
}  // namespace lime
