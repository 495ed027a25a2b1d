// SPDX-License-Identifier: Apache-2.0
// If the system starts no more threads, every program prints one clear line and exits with
// status 1.
#include <fmt/format.h>

#include "reliability/programs.h"
#include "support/sanitizers.h"

namespace lime {
namespace {

using testing::ProgramRun;

class FailingThreadsTest : public testing::ReliabilityTest {
 protected:
  void SetUp() override {
    if (testing::kIsSanitized) GTEST_SKIP() << "needs programs without sanitizers";
    std::filesystem::create_directory(folder_ / "in");
    ASSERT_EQ(run(capture_command(2000), "in").status, 0);
  }

  /// Leaves room for 0, 1, 2, ... threads until the command gets through.
  void starve(const std::string& command, int fewest_failures) const {
    int most = 0;
    for (;; ++most) {
      ASSERT_LT(most, 40) << command;
      const ProgramRun starved =
          run(fmt::format("rm -rf ../out; mkdir ../out; LD_PRELOAD='{}' LIME_MOST_THREADS={} "
                          "OPENBLAS_NUM_THREADS=1 timeout -k 5 60 {}",
                          LIME_FAILING_THREADS, most, command),
              "in");
      if (starved.status == 0) break;
      EXPECT_EQ(starved.status, 1) << most << " threads: " << command << starved.errors;
      EXPECT_THAT(starved.errors,
                  ::testing::MatchesRegex(
                      "lime-[a-z]+: (--)?threads: the system cannot start more of them: Resource "
                      "temporarily unavailable; give fewer --threads, or raise the limit [^\n]*\n"))
          << most << " threads: " << command;
      if (HasFailure()) return;
    }
    EXPECT_GE(most, fewest_failures) << command;
  }
};

TEST_F(FailingThreadsTest, MetricsSaySo) {
  for (const char* const command :
       {"entropy capture.h5 --bootstrap 100", "geometry capture.h5 --layer 0 --site hidden",
        "tsne capture.h5 --layer 0 --site hidden --max-points 60 --perplexity 5 --iterations 20"}) {
    starve(fmt::format("lime-metrics {} --threads 3 --quiet", command), 3);
  }
}

TEST_F(FailingThreadsTest, CapturesSaySo) {
  starve(
      "lime-capture --checkpoint ../model --text ../text.txt --seq-len 64 --max-sequences 8 "
      "--layers 0 --compress deflate --threads 3 --quiet -o ../out/c.h5",
      3);
  starve("lime-capture pack capture.h5 -o ../out/packed.h5 --quiet", 1);
}

TEST_F(FailingThreadsTest, TrainingAndGenerationSaySo) {
  starve(
      "lime-train --task aet --operands 2 --max-value 20 --train-samples 40 --test-samples 4 "
      "--hidden-size 16 --num-hidden-layers 2 --num-attention-heads 2 --steps 2 --batch-size 8 "
      "--threads 3 --quiet -o ../out/model",
      3);
  starve("lime-generate --checkpoint ../model --prompt a --max-new-tokens 2 --threads 3", 3);
}

}  // namespace
}  // namespace lime
