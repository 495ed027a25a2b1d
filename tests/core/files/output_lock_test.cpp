// SPDX-License-Identifier: Apache-2.0
#include "core/files/output_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "core/errors.h"
#include "core/files/atomic_file.h"
#include "core/program/work_share.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

// A process may own several locks: each open file has its own.
class OutputLockTest : public ::testing::Test {
 protected:
  /// Returns the error that a second process gets; empty if it gets the lock.
  std::string refusal(const WorkShare& share = {}) const {
    return testing::refusal_of<InvalidArgument>([&] { const OutputLock lock(output_, share); });
  }

  std::size_t num_files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  testing::TemporaryFolder folder_;
  const fs::path output_ = folder_ / "run.json";
};

TEST_F(OutputLockTest, SecondProcessIsToldWhoTheFirstIs) {
  {
    const OutputLock lock(output_);
    EXPECT_EQ(
        refusal(),
        fmt::format(
            "'{}': process {} on '{}' is writing to it; wait until it is done or use another name",
            output_.string(), ::getpid(), host_name()));
    EXPECT_NE(refusal({0, 2}), "");
    EXPECT_EQ(num_files(), 1U);
  }
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(num_files(), 0U);
}

TEST_F(OutputLockTest, SecondProcessIsToldWhatTheLockIsHeldFor) {
  const OutputLock lock(output_, {}, folder_ / "run.h5");
  EXPECT_EQ(refusal(), fmt::format("'{}': process {} on '{}' (for 'run.h5') is writing to it; wait "
                                   "until it is done or use another name",
                                   output_.string(), ::getpid(), host_name()));
}

TEST_F(OutputLockTest, ProcessesThatShareTheWorkLockItTogether) {
  std::optional<OutputLock> first(std::in_place, output_, WorkShare{0, 2});
  const OutputLock second(output_, {1, 2});
  EXPECT_NE(refusal({0, 2}), "");
  EXPECT_NE(refusal(), "") << "a process that does all the work";
  first.reset();
  EXPECT_EQ(refusal({0, 2}), "") << "a rank that was started again";
  EXPECT_NE(refusal(), "");
}

TEST_F(OutputLockTest, LockOfAKilledProcessIsTakenOver) {
  const pid_t child = ::fork();
  if (child == 0) {
    const OutputLock lock(output_);
    ::raise(SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(num_files(), 1U) << "the file stays";
  EXPECT_EQ(refusal(), "");
  EXPECT_EQ(num_files(), 0U);
}

TEST_F(OutputLockTest, LocksOfKilledSharesGoWithTheLast) {
  const pid_t child = ::fork();
  if (child == 0) {
    const OutputLock lock(output_, {2, 4});
    ::raise(SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  testing::write_text(folder_ / ".run.json.old-of-mine.txt", "not a lock");
  EXPECT_EQ(num_files(), 3U);
  EXPECT_EQ(refusal({0, 2}), "");
  EXPECT_EQ(num_files(), 1U);
}

TEST_F(OutputLockTest, LocksOfSharesStayWhereAnotherNameBeginsAlike) {
  const fs::path longer = folder_ / "run-0.5";
  const OutputLock share(longer, {0, 2});
  const OutputLock shards(folder_ / "run-0.5.shards", {0, 2});
  { const OutputLock whole(folder_ / "run-0"); }
  EXPECT_THROW(OutputLock(longer, {0, 2}), InvalidArgument);
  EXPECT_THROW(OutputLock(folder_ / "run-0.5.shards", {0, 2}), InvalidArgument);
}

TEST_F(OutputLockTest, FolderThatTakesNoFilesIsNotLocked) {
  const fs::path output = folder_ / "missing/run.json";
  const OutputLock lock(output);
  EXPECT_NO_THROW(OutputLock{output}) << "the first one holds nothing";
  EXPECT_FALSE(fs::exists(output.parent_path()));
}

}  // namespace
}  // namespace lime
