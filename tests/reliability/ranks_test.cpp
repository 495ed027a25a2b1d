// SPDX-License-Identifier: Apache-2.0
// Several processes write one capture and one results file, as started by mpirun, srun and
// torchrun.
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <thread>

#include "reliability/programs.h"
#include "store/capture_tools.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using testing::Child;
using testing::expect_equal_captures;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::leftovers;
using testing::ProgramRun;
using testing::read_text;
using testing::without_provenance;

constexpr int kRanks = 4;

class RanksTest : public testing::ReliabilityTest {
 protected:
  RanksTest() {
    for (const char* const name : {"alone", "together"}) fs::create_directory(folder_ / name);
  }

  /// Starts `command` in `together` as each of kRanks processes and waits for all.
  /// @return the sum of their exit statuses
  int run_ranks(const std::string& command) const {
    std::vector<std::unique_ptr<Child>> ranks;
    for (int rank = 0; rank < kRanks; ++rank) ranks.push_back(start_rank(command, rank));
    int sum = 0;
    for (const auto& child : ranks) sum += child->wait();
    return sum;
  }

  std::unique_ptr<Child> start_rank(const std::string& command, int rank) const {
    const std::string place = fmt::format("export SLURM_PROCID={} SLURM_STEP_NUM_TASKS={}; exec {}",
                                          rank, kRanks, command);
    return std::make_unique<Child>(shell(place, "together"), log_of(rank));
  }

  fs::path log_of(int rank) const { return folder_ / fmt::format("rank-{}.log", rank); }

  std::string logs() const {
    std::string all;
    for (int rank = 0; rank < kRanks; ++rank) all += read_text(log_of(rank));
    return all;
  }

  void expect_same_capture() const {
    expect_equal_captures(folder_ / "together/capture.h5", folder_ / "alone/capture.h5");
    EXPECT_THAT(verify_capture(folder_ / "together/capture.h5"), IsEmpty());
    EXPECT_THAT(leftovers(folder_ / "together"), IsEmpty());
  }

  void expect_same_results() const {
    EXPECT_EQ(without_provenance(folder_ / "together/e.json"),
              without_provenance(folder_ / "alone/e.json"));
    EXPECT_EQ(read_text(folder_ / "together/e.csv"), read_text(folder_ / "alone/e.csv"));
    EXPECT_THAT(leftovers(folder_ / "together"), IsEmpty());
  }

  const std::string capture_ = capture_command(3 * 32768);
  const std::string entropy_ =
      "lime-metrics entropy ../alone/capture.h5 --site values,hidden --alpha 0.5,1 --quiet "
      "--threads 1 -o e.json -o e.csv";
};

TEST_F(RanksTest, CaptureTogetherWhatOneProcessDoesAlone) {
  ASSERT_EQ(run(capture_, "alone").status, 0);
  ASSERT_EQ(run_ranks(capture_), 0) << logs();
  expect_same_capture();
  // If restarted, e.g. by a batch system, they find nothing to do.
  const fs::file_time_type written = last_write_time(folder_ / "together/capture.h5");
  ASSERT_EQ(run_ranks(capture_), 0) << logs();
  EXPECT_EQ(last_write_time(folder_ / "together/capture.h5"), written);
}

TEST_F(RanksTest, CaptureUnderMpirun) {
  if (run("mpirun --version").status != 0) GTEST_SKIP() << "needs mpirun (Debian: openmpi-bin)";
  ASSERT_EQ(run(capture_, "alone").status, 0);
  const ProgramRun mpirun =
      run("mpirun --allow-run-as-root --oversubscribe -n 4 " + capture_, "together");
  ASSERT_EQ(mpirun.status, 0) << mpirun.errors << mpirun.output;
  expect_same_capture();
  const ProgramRun entropy =
      run("mpirun --allow-run-as-root --oversubscribe -n 4 " + entropy_, "together");
  ASSERT_EQ(entropy.status, 0) << entropy.errors;
  ASSERT_EQ(run(entropy_, "alone").status, 0);
  expect_same_results();
}

TEST_F(RanksTest, CaptureByHandAndSaySo) {
  ASSERT_EQ(run(capture_, "alone").status, 0);
  for (const int index : {2, 0, 1}) {
    EXPECT_FALSE(fs::exists(folder_ / "together/capture.h5"));
    ASSERT_EQ(run(fmt::format("{} --shard {}/3", capture_, index), "together").status, 0);
  }
  expect_same_capture();
  const ProgramRun array =
      run("SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=6 "
          "lime-capture --checkpoint ../model --text ../text.txt --seq-len 64 --max-sequences 2 "
          "-o one.h5",
          "alone");
  EXPECT_THAT(array.output, HasSubstr("Share     1 of 2 processes, from 0, detected from "
                                      "SLURM_ARRAY_TASK_ID; --shard 0/1 captures all\n"));
  EXPECT_THAT(array.output, HasSubstr("Shards of other processes are missing"));
}

TEST_F(RanksTest, CaptureGoesOnWhereRanksDied) {
  ASSERT_EQ(run(capture_, "alone").status, 0);
  for (const int delay : {200, 400, 600}) {
    std::vector<std::unique_ptr<Child>> ranks;
    for (int rank = 0; rank < kRanks; ++rank) ranks.push_back(start_rank(capture_, rank));
    std::this_thread::sleep_for(std::chrono::milliseconds(delay));
    ranks[1]->send(SIGKILL);
    ranks[3]->send(SIGKILL);
    for (const auto& child : ranks) child->wait();
  }
  ASSERT_EQ(start_rank(capture_, 1)->wait() + start_rank(capture_, 3)->wait(), 0) << logs();
  expect_same_capture();
}

TEST_F(RanksTest, MeasureTogetherWhatOneProcessDoesAlone) {
  ASSERT_EQ(run(capture_command(32768), "alone").status, 0);
  ASSERT_EQ(run(entropy_, "alone").status, 0);
  ASSERT_EQ(run_ranks(entropy_), 0) << logs();
  expect_same_results();
  const std::string first = read_text(folder_ / "together/e.json");
  ASSERT_EQ(run_ranks(entropy_), 0) << logs();
  EXPECT_EQ(read_text(folder_ / "together/e.json"), first) << "nothing was left to do";
}

TEST_F(RanksTest, MeasuringGoesOnWhereRanksDied) {
  ASSERT_EQ(run(capture_command(32768), "alone").status, 0);
  ASSERT_EQ(run(entropy_, "alone").status, 0);
  for (const int delay : {40, 80, 120}) {
    std::vector<std::unique_ptr<Child>> ranks;
    for (int rank = 0; rank < kRanks; ++rank) ranks.push_back(start_rank(entropy_, rank));
    std::this_thread::sleep_for(std::chrono::milliseconds(delay));
    ranks[0]->send(SIGKILL);
    ranks[2]->send(SIGKILL);
    for (const auto& child : ranks) child->wait();
  }
  ASSERT_EQ(run_ranks(entropy_), 0) << logs();
  expect_same_results();
}

TEST_F(RanksTest, OneProcessFinishesWhatRanksBegan) {
  ASSERT_EQ(run(capture_command(32768), "alone").status, 0);
  ASSERT_EQ(run(entropy_, "alone").status, 0);
  const ProgramRun part = run(entropy_ + " --shard 1/3 --quiet", "together");
  ASSERT_EQ(part.status, 0) << part.errors;
  EXPECT_FALSE(fs::exists(folder_ / "together/e.json"));
  EXPECT_TRUE(fs::exists(folder_ / "together/e.json.part.1-of-3"));
  EXPECT_THAT(run(entropy_, "together").errors,
              HasSubstr("'e.json.part.1-of-3': contains the finished part of an interrupted run"));
  ASSERT_EQ(run(entropy_ + " --resume", "together").status, 0);
  expect_same_results();
}

TEST_F(RanksTest, SharedMeasurementsNeedAnOutput) {
  ASSERT_EQ(run(capture_command(64), "alone").status, 0);
  const std::string entropy = "lime-metrics entropy capture.h5 --shard 0/2";
  EXPECT_THAT(
      run(entropy, "alone").errors,
      HasSubstr(
          "--shard: 2 processes that split a measurement need a .json file as first output, got "
          "none; add it with -o, or use --shard 0/1 to compute everything in each process"));
  EXPECT_THAT(run(entropy + " -o e.csv", "alone").errors, HasSubstr("got e.csv;"));
}

}  // namespace
}  // namespace lime
