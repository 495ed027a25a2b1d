// SPDX-License-Identifier: Apache-2.0
// End-to-end test of lime-metrics with a capture larger than its memory limit.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "core/random.h"
#include "store/capture_writer.h"
#include "support/sanitizers.h"
#include "support/test_data.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

/// Writes `bytes` of random activations in two layers of sequences of 256 x 512.
void write_large_capture(const fs::path& path, std::int64_t bytes) {
  constexpr std::int64_t kTokens = 256;
  constexpr std::int64_t kDim = 512;
  CapturePlan plan;
  plan.info.tool = "test";
  for (const int layer : {0, 1}) plan.activations.push_back({"values", layer, kDim, "hook_v"});
  CaptureWriter writer(path, plan);
  ShardWriter shard = writer.begin_shard(0, 0);
  Random random(1);
  std::vector<RunningStatistics> statistics(2);
  for (std::int64_t i = 0; i < bytes / (2 * 4 * kTokens * kDim); ++i) {
    shard.add_sequences(std::vector<Sequence>(1));
    RowTable rows;
    rows.sequence.assign(kTokens, static_cast<std::int32_t>(i));
    rows.position.assign(kTokens, 0);
    rows.token.assign(kTokens, 7);
    shard.append_rows(rows);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const MatrixF values = MatrixF::NullaryExpr(
          kTokens, kDim, [&] { return static_cast<float>(random.uniform(-1.0, 1.0)); });
      shard.append(layer, values);
      statistics[layer].add(values);
    }
  }
  for (std::size_t layer = 0; layer < 2; ++layer) {
    shard.set_statistics("values", static_cast<int>(layer), statistics[layer]);
  }
  shard.finish();
  writer.finish();
}

/// Runs lime-metrics and waits. @return exit status and peak resident bytes.
std::pair<int, std::int64_t> run_measured(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), LIME_METRICS);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  if (::posix_spawn(&child, LIME_METRICS, nullptr, nullptr, argv.data(), environ) != 0) {
    return {-1, 0};
  }
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, usage.ru_maxrss * 1024};
}

TEST(LimeMetricsMemoryTest, ACaptureOfFourTimesTheMemoryLimitStaysWithinIt) {
  if (testing::kIsSanitized) GTEST_SKIP() << "a sanitizer's own memory counts too";
  const testing::TemporaryFolder folder;
  constexpr std::int64_t kLimit = 128 * kMebibyte;
  // In a separate process: the kernel counts a parent's memory towards its children's peak.
  const pid_t writer = ::fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) {
    write_large_capture(folder / "capture.h5", 4 * kLimit);
    ::_exit(0);
  }
  int written = -1;
  ASSERT_EQ(::waitpid(writer, &written, 0), writer);
  ASSERT_EQ(written, 0);
  const std::vector<std::vector<std::string>> commands = {
      {"entropy"}, {"geometry", "--neighbor-rows", "500"}, {"similarity", "--max-rows", "500"}};
  for (std::vector<std::string> arguments : commands) {
    const std::string metric = arguments.front();
    for (const std::string& more :
         {(folder / "capture.h5").string(), std::string("--quiet"), std::string("--threads"),
          std::string("2"), std::string("--memory-limit"), std::string("128MiB"), std::string("-o"),
          (folder / (metric + ".json")).string()}) {
      arguments.push_back(more);
    }
    const auto [status, peak] = run_measured(arguments);
    EXPECT_EQ(status, 0) << metric;
    EXPECT_LE(peak, kLimit) << metric;
    EXPECT_GT(peak, kMebibyte) << metric;
  }
}

TEST(LimeMetricsMemoryTest, TheBootstrapCountsToo) {
  if (testing::kIsSanitized) GTEST_SKIP() << "a sanitizer's own memory counts too";
  const testing::TemporaryFolder folder;
  write_large_capture(folder / "capture.h5", 4 * kMebibyte);
  const auto run = [&](const std::string& limit, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"entropy", (folder / "capture.h5").string(),
                                          "--layer", "0",
                                          "--quiet", "--threads",
                                          "1",       "--memory-limit",
                                          limit};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_measured(std::move(arguments));
  };
  // 80 MB of resampled means.
  const std::vector<std::string> many = {"--bootstrap", "10000000", "--max-sequences", "2"};
  EXPECT_EQ(run("80MB", many).first, 1);
  const auto [status, peak] = run("192MiB", many);
  EXPECT_EQ(status, 0);
  EXPECT_LE(peak, 192 * kMebibyte);
  EXPECT_EQ(run("80MB", {"--summary", "layers", "--compare-resamples", "10000000"}).first, 1);
}

}  // namespace
}  // namespace lime
