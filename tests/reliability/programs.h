// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "support/test_data.h"

namespace lime::testing {

/// A program that runs concurrently with the test.
class Child {
 public:
  /// Starts a shell command; its output goes to `log`.
  Child(const std::string& command, const std::filesystem::path& log);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(int signal) const;
  /// Waits for its end. @return the exit status, or 128 + the signal that killed it
  int wait();
  /// Returns true if it has not ended yet.
  bool runs();

 private:
  pid_t pid_ = -1;
  int status_ = -1;
};

/// Runs the programs in a folder with a small model and a text.
class ReliabilityTest : public ::testing::Test {
 protected:
  ReliabilityTest();

  /// Returns the command to run in the folder, or in a subfolder, with the built programs in PATH,
  /// after those in the folder LIME_CHECKED_PROGRAMS of another build if that is set,
  /// and without the variables of a launcher that the test itself may run under.
  std::string shell(const std::string& command, const std::string& below = ".") const;
  ProgramRun run(const std::string& command, const std::string& below = ".") const;

  /// Returns the command that captures about `tokens` tokens of the text, in shards of 32768.
  static std::string capture_command(int tokens, const std::string& what = "--layers 0-1");

  testing::TemporaryFolder folder_;
};

/// Returns what killed programs leave: hidden files, journals.
std::vector<std::string> leftovers(const std::filesystem::path& folder);

/// Fails unless all rows, activations and statistics are bit-identical.
void expect_equal_captures(const std::filesystem::path& found,
                           const std::filesystem::path& expected);

/// Returns a results file without run-specific fields.
std::string without_provenance(const std::filesystem::path& results);

/// Returns a number that an environment variable raises for a long run, as in the scripts of
/// bench/reliability.
int count_from_environment(const char* name, int usual);

}  // namespace lime::testing
