// SPDX-License-Identifier: Apache-2.0
#include "core/files/input_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <string>

#include "core/errors.h"
#include "core/files/sha256.h"
#include "core/json.h"
#include "support/refusal.h"
#include "support/test_data.h"

namespace lime {
namespace {

template <typename Call> std::string refusal(const Call& call) {
  return testing::refusal_of<IoError>(call);
}

TEST(InputFileTest, ReadsTheFileInParts) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "a", "abcde");
  InputFile file(folder / "a");
  EXPECT_EQ(file.size(), 5U);
  std::array<char, 3> part{};
  EXPECT_EQ(file.read(part), 3U);
  EXPECT_EQ(std::string(part.data(), 3), "abc");
  EXPECT_EQ(file.read(part), 2U);
  EXPECT_EQ(std::string(part.data(), 2), "de");
  EXPECT_EQ(file.read(part), 0U);
}

TEST(InputFileTest, NamesWhatCannotBeRead) {
  const testing::TemporaryFolder folder;
  const auto open = [&](const std::filesystem::path& path) {
    return refusal([&] { const InputFile file(path); });
  };
  EXPECT_EQ(open(folder / "none"),
            "'" + (folder / "none").string() + "': cannot be read: No such file or directory");
  EXPECT_EQ(open(folder.path()),
            "'" + folder.path().string() + "': is not a regular file, expected one");
  EXPECT_EQ(open("/dev/null"), "'/dev/null': is not a regular file, expected one");
}

TEST(InputFileTest, RefusesANameThatNulWouldCut) {
  const testing::TemporaryFolder folder;
  testing::write_text(folder / "a", "content");
  const std::string name = (folder / "a").string();
  EXPECT_EQ(refusal([&] { const InputFile file(name + std::string("\0b", 2)); }),
            "'" + name + "\\x00b': a file name must not contain NUL");
}

// The FIFO has no writer: a blocking read would never return.
TEST(InputFileTest, RefusesAFifoWithoutWaiting) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path fifo = folder / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::filesystem::create_symlink(fifo, folder / "link");
  const std::string expected = "': is not a regular file, expected one";
  EXPECT_EQ(refusal([&] { const InputFile file(fifo); }), "'" + fifo.string() + expected);
  EXPECT_EQ(refusal([&] { const InputFile file(folder / "link"); }),
            "'" + (folder / "link").string() + expected);
  EXPECT_EQ(refusal([&] { const MappedFile file(fifo); }), "'" + fifo.string() + expected);
  EXPECT_EQ(refusal([&] { sha256_of_file(fifo); }), "'" + fifo.string() + expected);
  EXPECT_EQ(refusal([&] { read_json_file(fifo); }), "'" + fifo.string() + expected);
}

}  // namespace
}  // namespace lime
