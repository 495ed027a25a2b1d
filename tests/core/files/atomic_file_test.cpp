// SPDX-License-Identifier: Apache-2.0
#include "core/files/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>

#include "core/errors.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::string refusal(const fs::path& path) {
  return testing::refusal_of<IoError>([&] { write_file_atomically(path, "new"); });
}

/// Runs `body` in a child process and returns its wait status.
template <typename Body> int in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(AtomicFileTest, ReplacesTheFileOnCommitAndNotBefore) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.txt";
  write_text(path, "old");
  AtomicFile file(path);
  write_text(file.temporary(), "new");
  EXPECT_EQ(read_text(path), "old");
  file.commit();
  EXPECT_EQ(read_text(path), "new");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(AtomicFileTest, LeavesNothingWithoutCommit) {
  const TemporaryFolder folder;
  {
    const AtomicFile file(folder / "a.txt");
    EXPECT_EQ(files_in(folder.path()), 1u);
  }
  EXPECT_EQ(files_in(folder.path()), 0u);
}

TEST(AtomicFileTest, LeavesTheOldFileWhenTheWriterThrows) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.txt";
  write_text(path, "old");
  const auto half = [](std::ostream& out) {
    out << "half";
    throw NumericalError("lost");
  };
  EXPECT_THROW(write_file_atomically(path, half), NumericalError);
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(AtomicFileTest, AKilledWriterLeavesTheOldFileAndWhatItLeftIsSweptAway) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.txt";
  write_text(path, "old");
  const int status = in_child([&] {
    write_file_atomically(path, [](std::ostream& out) {
      out << "half" << std::flush;
      ::raise(SIGKILL);
    });
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(files_in(folder.path()), 2u);

  const AtomicFile running(path);  // of a running process: not removed
  remove_stale_temporaries(path);
  EXPECT_EQ(files_in(folder.path()), 2u);
  EXPECT_TRUE(fs::exists(running.temporary()));
}

TEST(AtomicFileTest, ReportsADiskThatFillsUpWhileWriting) {
  const TemporaryFolder folder;
  const fs::path path = folder / "a.txt";
  const int status = in_child([&] {
    // The file size limit simulates a full disk.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_file_atomically(path, std::string(1 << 20, 'x'));
    } catch (const IoError& error) {
      const std::string text = error.what();
      ::_exit(text.find("File too large") != std::string::npos ? 3 : 4);
    }
  });
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(files_in(folder.path()), 0u);
}

TEST(AtomicFileTest, NamesAFolderThatIsMissing) {
  const TemporaryFolder folder;
  const fs::path path = folder / "no" / "a.txt";
  EXPECT_EQ(refusal(path), "'" + path.string() + "': the folder '" + (folder / "no").string() +
                               "' does not exist; create it first");
}

TEST(AtomicFileTest, RefusesAFolderAsTheFile) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal(folder.path()), HasSubstr("is a folder, expected a file name"));
}

TEST(AtomicFileTest, ReplacesNoFifoOrDevice) {
  const TemporaryFolder folder;
  const fs::path fifo = folder / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  fs::create_symlink(fifo, folder / "link");
  const std::string expected = "': is a device, a FIFO or a socket, expected a file name";
  EXPECT_EQ(refusal(fifo), "'" + fifo.string() + expected);
  EXPECT_EQ(refusal(folder / "link"), "'" + (folder / "link").string() + expected);
  EXPECT_THROW(write_new_file(fifo, "new"), IoError);
  // Never committed, to protect the device.
  for (const char* const device : {"/dev/null", "/dev/stdout"}) {
    EXPECT_EQ(testing::refusal_of<IoError>([&] { const AtomicFile file(device); }),
              "'" + std::string(device) + expected);
  }
  EXPECT_TRUE(fs::is_fifo(fifo));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(files_in(folder.path()), 2U);
}

TEST(AtomicFileTest, ReplacesALinkToAFileByAFile) {
  const TemporaryFolder folder;
  write_text(folder / "a.txt", "old");
  fs::create_symlink(folder / "a.txt", folder / "link");
  write_file_atomically(folder / "link", "new");
  EXPECT_EQ(read_text(folder / "a.txt"), "old");
  EXPECT_EQ(read_text(folder / "link"), "new");
}

TEST(AtomicFileTest, NamesAFolderThatMayNotBeWrittenTo) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "closed");
  write_text(folder / "closed" / "a.txt", "old");
  for (const auto permissions : {fs::perms(0555), fs::perms(0000)}) {
    fs::permissions(folder / "closed", permissions);
    fs::permissions(folder.path(), fs::perms(0755));
    const int status = in_child([&] {
      // Root may write anywhere: switch to another user.
      if (::geteuid() == 0 && ::seteuid(65534) != 0) ::_exit(2);
      const bool as_expected = refusal(folder / "closed/a.txt")
                                   .ends_with(
                                       "closed/a.txt': cannot be written: Permission denied; use a "
                                       "location that you may write to");
      ::_exit(as_expected ? 3 : 4);
    });
    EXPECT_EQ(WEXITSTATUS(status), 3);
    fs::permissions(folder / "closed", fs::perms::owner_all);
    EXPECT_EQ(read_text(folder / "closed/a.txt"), "old");
  }
}

TEST(DescribeErrnoTest, HintsAtTheRemedy) {
  EXPECT_EQ(describe_errno(ENOSPC), "No space left on device; free some space or write elsewhere");
  EXPECT_EQ(describe_errno(EROFS), "Read-only file system; use a location that you may write to");
  EXPECT_EQ(describe_errno(ENOENT), "No such file or directory");
}

}  // namespace
}  // namespace lime
