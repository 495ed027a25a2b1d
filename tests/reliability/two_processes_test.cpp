// SPDX-License-Identifier: Apache-2.0
// A second process on the output of the first fails immediately with a clear error.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

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
  /// Starts `command` in the folder `out`, stops it while it holds `lock`, and runs `second` in a
  /// second process; then the first continues to its end. If the first finished too early, on a
  /// busy machine, starts over.
  void expect_refused(const std::string& command, const std::string& lock,
                      const std::string& second) const {
    constexpr int kAttempts = 50;
    fs::copy(folder_ / "out", folder_ / "before", fs::copy_options::recursive);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      fs::remove_all(folder_ / "out");
      fs::copy(folder_ / "before", folder_ / "out", fs::copy_options::recursive);
      Child first(shell("exec " + command, "out"), folder_ / "log");
      const bool is_held = stop_while_it_holds(first, folder_ / "out" / lock);
      if (is_held) expect_refusal(second);
      first.send(SIGCONT);
      EXPECT_EQ(first.wait(), 0) << read_text(folder_ / "log");
      EXPECT_THAT(leftovers(folder_ / "out"), IsEmpty());
      if (is_held) {
        fs::remove_all(folder_ / "before");
        return;
      }
    }
    ADD_FAILURE() << "never stopped in time: " << command;
  }

  /// @return whether `lock` is held by the stopped process.
  static bool stop_while_it_holds(Child& process, const fs::path& lock) {
    while (process.runs() && !fs::exists(lock)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    process.send(SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return is_held(lock);
  }

  static bool is_held(const fs::path& lock) {
    const int file = ::open(lock.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const bool is_free = ::flock(file, LOCK_EX | LOCK_NB) == 0;
    ::close(file);
    return !is_free;
  }

  void expect_refusal(const std::string& second) const {
    const ProgramRun told = run(second, "out");
    EXPECT_EQ(told.status, 1) << second;
    EXPECT_THAT(told.errors,
                MatchesRegex("lime-[a-z]+: '[^\n]*': (process [0-9]+ on '[^\n]*'|another process) "
                             "is writing to it; wait until it is done or use another name\n"));
  }

  void SetUp() override { fs::create_directory(folder_ / "out"); }
};

TEST_F(TwoProcessesTest, CaptureIsTold) {
  const std::string command = capture_command(65536);
  expect_refused(command, ".capture.h5.lock", command + " --resume");
}

TEST_F(TwoProcessesTest, CaptureThatIsSharedIsTold) {
  const std::string command = capture_command(65536) + " --shard 0/2";
  Child first(shell("exec " + command, "out"), folder_ / "log");
  ASSERT_TRUE(stop_while_it_holds(first, folder_ / "out/.capture.h5.0-of-2.lock"));
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
  expect_refused(command, ".packed.h5.lock", command);
}

TEST_F(TwoProcessesTest, MetricsAreTold) {
  ASSERT_EQ(run(capture_command(65536), "out").status, 0);
  const std::string command = "lime-metrics entropy capture.h5 --quiet --threads 1 -o ";
  expect_refused(command + "e.json", ".e.json.lock", command + "e.json --resume");
  expect_refused(command + "f.json -o f.csv", ".f.csv.lock", command + "f.csv");
}

/// Also without --resume, though the first process has a journal.
TEST_F(TwoProcessesTest, ASweepIsTold) {
  const std::string command =
      "lime-capture sweep --checkpoint ../model --text ../text.txt --seq-len 32 --max-sequences 64 "
      "--batch-size 1 --over layers --bootstrap 0 --threads 1 --quiet -o s.json";
  expect_refused(command, ".s.json.lock", command);
}

TEST_F(TwoProcessesTest, TrainingIsTold) {
  const std::string command =
      "lime-train --task aet --operands 2 --max-value 20 --train-samples 40 --test-samples 4 "
      "--hidden-size 16 --num-hidden-layers 2 --num-attention-heads 2 --steps 200 --batch-size 8 "
      "--quiet -o model --resume";
  expect_refused(command, "model/.training_state.safetensors.lock", command);
}

}  // namespace
}  // namespace lime
