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

/// A program that runs beside the test.
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
  /// Whether it has not ended yet.
  bool runs();

 private:
  pid_t pid_ = -1;
  int status_ = -1;
};

/// Runs the programs in a folder with a small model and a text.
class ReliabilityTest : public ::testing::Test {
 protected:
  ReliabilityTest();

  /// The command in the folder, or in one below it, with the built programs in the PATH and without
  /// the variables of a launcher that the test itself may run under.
  std::string shell(const std::string& command, const std::string& below = ".") const;
  ProgramRun run(const std::string& command, const std::string& below = ".") const;

  /// Captures about `tokens` tokens of the text, in shards of 32768.
  static std::string capture_command(int tokens, const std::string& what = "--layers 0-1");

  testing::TemporaryFolder folder_;
};

/// What programs leave behind where they are killed: hidden files, journals.
std::vector<std::string> leftovers(const std::filesystem::path& folder);

/// Fails where not all rows, activations and statistics have the same bits.
void expect_equal_captures(const std::filesystem::path& found,
                           const std::filesystem::path& expected);

/// A results file but for what tells runs apart.
std::string without_provenance(const std::filesystem::path& results);

/// A number that an environment variable raises for a long run, as the scripts of bench/reliability
/// do.
int count_from_environment(const char* name, int usual);

}  // namespace lime::testing
