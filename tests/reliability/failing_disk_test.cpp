// SPDX-License-Identifier: Apache-2.0
// Full, failing and read-only disks, and files that disappear: one clear error, and finished work
// stays valid.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "reliability/programs.h"
#include "support/sanitizers.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using testing::Child;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::leftovers;
using testing::ProgramRun;
using testing::read_text;

/// A program that writes to the folder `out`.
struct Job {
  const char* name;
  std::string command;
  std::string check;   ///< fails if finished work in `out` is damaged
  std::string result;  ///< complete when the command has finished
};

class FailingDiskTest : public testing::ReliabilityTest {
 protected:
  FailingDiskTest() {
    fs::create_directory(folder_ / "out");
    fs::create_directory(folder_ / "in");
    EXPECT_EQ(run(capture_command(40000), "in").status, 0);
    EXPECT_EQ(run(kEntropy + " -o e.json", "in").status, 0);
    std::string items;
    for (int i = 0; i < 40; ++i) {
      items +=
          fmt::format(R"({{"prompt": "Item {}", "choices": ["is", "are"], "gold": 0}})", i) + "\n";
    }
    testing::write_text(folder_ / "in/items.jsonl", items);
  }

  const std::string kEntropy =
      "lime-metrics entropy ../in/capture.h5 --threads 1 --quiet --bootstrap 0";

  std::vector<Job> jobs() const {
    return {{"capture", capture_command(40000) + " --resume",
             "test ! -e capture.h5 || lime-capture verify capture.h5 --quiet", "capture.h5"},
            {"pack", "lime-capture pack ../in/capture.h5 -o packed.h5 --quiet",
             "test ! -e packed.h5 || lime-capture verify packed.h5 --quiet", "packed.h5"},
            {"metrics", kEntropy + " -o e.json -o e.csv --resume",
             "test ! -e e.json || lime-metrics rerun e.json --quiet", "e.json"},
            {"figure", "lime-figure ../in/e.json -o e.pdf",
             "test ! -e e.pdf || lime-figure "
             "--show-provenance e.pdf >/dev/null",
             "e.pdf"},
            {"eval",
             "lime-eval --checkpoint ../model --tasks choices --data ../in/items.jsonl --threads 1 "
             "--quiet -o samples.jsonl --resume",
             "test ! -e samples.jsonl || lime-metrics choices samples.jsonl --quiet >/dev/null",
             "samples.jsonl"},
            {"train",
             "lime-train --task aet --operands 2 --max-value 20 --train-samples 40 "
             "--test-samples 4 --hidden-size 16 --num-hidden-layers 2 --num-attention-heads 2 "
             "--steps 6 --batch-size 8 --save-every 2 --log-every 1 --warmup-steps 2 --quiet "
             "-o model --resume",
             "test ! -e model/training_state.safetensors || "
             "head -c 8 model/training_state.safetensors >/dev/null",
             "model/model.safetensors"}};
  }

  void clear_out() const {
    fs::remove_all(folder_ / "out");
    fs::create_directory(folder_ / "out");
  }

  /// Expects exactly one line of the job with the error.
  static void expect_one_line(const ProgramRun& failed, const Job& job, const std::string& reason) {
    EXPECT_EQ(failed.status, 1) << job.name << failed.errors;
    EXPECT_THAT(failed.errors, HasSubstr(reason)) << job.name;
    EXPECT_THAT(failed.errors, ::testing::MatchesRegex("lime-[a-z]+: [^\n]*'[^\n]*'[^\n]*\n"))
        << job.name;
  }

  void expect_whole(const Job& job) const {
    const ProgramRun check = run(job.check, "out");
    EXPECT_EQ(check.status, 0) << job.name << check.errors << check.output;
    EXPECT_THAT(visible_leftovers(), IsEmpty()) << job.name;
  }

  /// Returns temporary files; the journal of an interrupted measurement is expected.
  std::vector<std::string> visible_leftovers() const {
    std::vector<std::string> names = leftovers(folder_ / "out");
    std::erase(names, "e.json.part");
    std::erase(names, "samples.jsonl.part");
    return names;
  }

  /// Returns a prefix that makes the command's calls fail from the `at`-th on.
  std::string failing(const std::string& call, int error, int at) const {
    return fmt::format(
        "LD_PRELOAD='{}' LIME_FAIL_UNDER='{}' LIME_FAIL_CALL={} LIME_FAIL_WITH={} LIME_FAIL_AT={} ",
        LIME_FAILING_DISK, (folder_ / "out").string(), call, error, at);
  }

  /// Makes all calls from the k-th on fail, with k growing by 1 + k / LIME_CALLS, until the job
  /// succeeds (LIME_CALLS in bench/reliability/reliability.sh: 16).
  void fail_at_every_call(const std::string& call, int error, const std::string& reason) const {
    const int closeness = testing::count_from_environment("LIME_CALLS", 1);
    for (const Job& job : jobs()) {
      int failures = 0;
      for (int at = 1;; at += 1 + at / closeness) {
        clear_out();
        const ProgramRun failed = run(failing(call, error, at) + job.command, "out");
        if (failed.status == 0) break;
        ++failures;
        expect_one_line(failed, job, reason);
        expect_whole(job);
        if (HasFailure()) return;
        const ProgramRun again = run(job.command, "out");
        EXPECT_EQ(again.status, 0) << job.name << again.errors;
        EXPECT_TRUE(fs::exists(folder_ / "out" / job.result));
        expect_whole(job);
      }
      EXPECT_GE(failures, 1) << job.name << " never noticed";
      fmt::print("{}: failed at {} places\n", job.name, failures);
    }
  }
};

TEST_F(FailingDiskTest, ErrorOnWritingIsToldInOneLine) {
  if (testing::kIsSanitized) GTEST_SKIP() << "needs programs without sanitizers";
  fail_at_every_call("write", EIO, "Input/output error");
}

TEST_F(FailingDiskTest, ErrorOnSyncingIsToldInOneLine) {
  if (testing::kIsSanitized) GTEST_SKIP() << "needs programs without sanitizers";
  fail_at_every_call("sync", EIO, "Input/output error");
}

TEST_F(FailingDiskTest, FullQuotaIsToldInOneLine) {
  if (testing::kIsSanitized) GTEST_SKIP() << "needs programs without sanitizers";
  for (const Job& job : jobs()) {
    const ProgramRun failed = run(failing("write", EDQUOT, 1) + job.command, "out");
    expect_one_line(failed, job, "Disk quota exceeded; free some space or write elsewhere");
    expect_whole(job);
    clear_out();
  }
}

TEST_F(FailingDiskTest, LimitOfFileSizesIsToldInOneLine) {
  for (const Job& job : jobs()) {
    // In units of 512 bytes.
    const ProgramRun failed = run("ulimit -f 8; " + job.command, "out");
    if (failed.status == 0) continue;  // it writes only small files
    expect_one_line(failed, job, "File too large; raise the file size limit (ulimit -f)");
    expect_whole(job);
    EXPECT_EQ(run(job.command, "out").status, 0) << job.name;
    expect_whole(job);
  }
}

/// A separate disk that is full and is enlarged later.
TEST_F(FailingDiskTest, FullDiskIsToldInOneLineAndLetsGoOnLater) {
  const std::string sandbox = "unshare --user --map-root-user --mount sh -c ";
  if (run(sandbox + "'mount -t tmpfs -o size=64k none .'", "out").status != 0) {
    GTEST_SKIP() << "needs leave to mount a file system in a name space of its own";
  }
  for (const Job& job : jobs()) {
    clear_out();
    // Filled except for one page, which is too little for any job.
    const std::string script = fmt::format(
        "'mount -t tmpfs -o size=64k none . && cd ../out && head -c 60000 /dev/zero >filler;"
        " {}; test $? = 1 || echo no failure >&2; {} >&2 || echo damaged >&2; "
        "mount -o remount,size=64m . && {} && {} || echo not resumed >&2; "
        "find . -name \".*part*\" -o -name \".*lock\" >&2'",
        job.command, job.check, job.command, job.check);
    const ProgramRun result = run(sandbox + script, "out");
    EXPECT_THAT(result.errors,
                ::testing::MatchesRegex(
                    "lime-[a-z]+: [^\n]*No space left on device; free some space or write "
                    "elsewhere[^\n]*\n"))
        << job.name;
  }
}

TEST_F(FailingDiskTest, ReadOnlyFolderIsToldInOneLine) {
  const std::string sandbox = "unshare --user --map-root-user --mount sh -c ";
  const std::string mount = "mount --bind . . && mount -o remount,bind,ro . && cd ../out && ";
  if (run(sandbox + "'" + mount + "true'", "out").status != 0) {
    GTEST_SKIP() << "needs leave to mount a file system in a name space of its own";
  }
  for (const Job& job : jobs()) {
    const ProgramRun failed = run(sandbox + "'" + mount + job.command + "'", "out");
    expect_one_line(failed, job, "Read-only file system; use a location that you may write to");
    EXPECT_TRUE(fs::is_empty(folder_ / "out")) << job.name;
  }
}

TEST_F(FailingDiskTest, FolderRemovedUnderneathIsToldInOneLine) {
  Child child(shell("exec " + capture_command(110000), "out"), folder_ / "log");
  const fs::path shards = folder_ / "out/capture.shards";
  while (child.runs() && !fs::exists(shards / "00000.json")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  fs::rename(shards, folder_ / "elsewhere");
  EXPECT_EQ(child.wait(), 1);
  EXPECT_THAT(read_text(folder_ / "log"),
              ::testing::MatchesRegex("lime-capture: [^\n]*capture.shards[^\n]*\n"));
  EXPECT_FALSE(fs::exists(folder_ / "out/capture.h5"));
}

TEST_F(FailingDiskTest, ShardRemovedUnderneathIsToldInOneLine) {
  fs::remove(folder_ / "in/capture.shards/00000.h5");
  for (const Job& job : jobs()) {
    if (job.command.find("../in/capture.h5") == std::string::npos) continue;
    const ProgramRun failed = run(job.command, "out");
    expect_one_line(failed, job, "capture.shards/00000.h5'");
    EXPECT_TRUE(fs::is_empty(folder_ / "out")) << job.name;
  }
}

}  // namespace
}  // namespace lime
