// SPDX-License-Identifier: Apache-2.0
#include "core/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <new>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/errors.h"
#include "core/program/command_line.h"

namespace lime {
namespace {

/// Runs `action` as main() of a program called with its path; in a child process, because
/// run_program() changes the signal handling of the process.
int run_as_main(const std::function<int()>& action) {
  CommandLine line("tool", "");
  line.on_run(action);
  const char* const arguments[] = {"/usr/bin/tool"};
  return run_program(line, 1, arguments);
}

TEST(RunProgramDeathTest, TurnsExceptionsIntoOneLineAndAStatus) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(::_exit(run_as_main([]() -> int { throw FormatError("'x': is odd"); })),
              ::testing::ExitedWithCode(kExitFailed), "^tool: 'x': is odd\n$");
  EXPECT_EXIT(::_exit(run_as_main([]() -> int { throw Interrupted("stopped"); })),
              ::testing::ExitedWithCode(kExitInterrupted), "^tool: stopped\n$");
  EXPECT_EXIT(::_exit(run_as_main([]() -> int { throw std::bad_alloc(); })),
              ::testing::ExitedWithCode(kExitFailed),
              "^tool: out of memory; reduce the request, or check whether an input file declares a "
              "wrong size\n$");
  EXPECT_EXIT(::_exit(run_as_main([]() -> int {
                throw std::runtime_error("no such device\nframe #0: main\nframe #1: start");
              })),
              ::testing::ExitedWithCode(kExitFailed), "^tool: no such device\n$");
  EXPECT_EXIT(::_exit(run_as_main([] { return 5; })), ::testing::ExitedWithCode(5), "^$");
}

TEST(RunProgramDeathTest, GoesOnWhenTheReaderOfItsOutputIsGone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [](std::size_t num_bytes, bool flushes) {
    int ends[2];
    if (::pipe(ends) != 0) return 99;
    ::close(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
    return run_as_main([&] {
      fmt::print("{}", std::string(num_bytes, 'x'));
      if (flushes && flush_output()) return 98;
      fmt::print("{}", std::string(num_bytes, 'x'));
      return 5;
    });
  };
  EXPECT_EXIT(::_exit(run(10, false)), ::testing::ExitedWithCode(5), "^$");
  EXPECT_EXIT(::_exit(run(10, true)), ::testing::ExitedWithCode(5), "^$");
  // What does not fit into the buffer is an exception, so that the program ends early.
  EXPECT_EXIT(::_exit(run(1 << 20, false)), ::testing::ExitedWithCode(kExitOutputClosed), "^$");
}

TEST(RunProgramDeathTest, NamesTheFileOfAnErrorOfTheStandardLibrary) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(::_exit(run_as_main([]() -> int {
                return static_cast<int>(std::filesystem::file_size("/no/such/file"));
              })),
              ::testing::ExitedWithCode(kExitFailed),
              "^tool: '/no/such/file': cannot be used: No such file or directory\n$");
}

TEST(RunProgramDeathTest, FailsWhereStandardOutputCannotBeWritten) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr const char* kMessage =
      "^tool: standard output: cannot be written: No space left on device; free some space or "
      "write elsewhere\n$";
  const auto print = [](std::size_t num_bytes, bool flushes = false) {
    if (std::freopen("/dev/full", "w", stdout) == nullptr) return 99;
    return run_as_main([&] {
      fmt::print("{}", std::string(num_bytes, 'x'));
      if (flushes) flush_output();
      return 0;
    });
  };
  EXPECT_EXIT(::_exit(print(0)), ::testing::ExitedWithCode(kExitDone), "^$");
  EXPECT_EXIT(::_exit(print(5)), ::testing::ExitedWithCode(kExitFailed), kMessage);
  EXPECT_EXIT(::_exit(print(5, true)), ::testing::ExitedWithCode(kExitFailed), kMessage);
  EXPECT_EXIT(::_exit(print(1 << 20)), ::testing::ExitedWithCode(kExitFailed), kMessage)
      << "more than is buffered";
}

TEST(RunProgramDeathTest, ASignalRequestsTheStopAndASecondOneEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto wait_for_stop = [] {
    while (!interrupt_token().stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(::_exit(run_as_main([&]() -> int {
                  ::kill(::getpid(), signal);
                  wait_for_stop();
                  throw Interrupted("stopped on request");
                })),
                ::testing::ExitedWithCode(kExitInterrupted), "tool: stopped on request");
  }
  EXPECT_EXIT(::_exit(run_as_main([&]() -> int {
                ::kill(::getpid(), SIGINT);
                wait_for_stop();
                ::kill(::getpid(), SIGINT);  // like `timeout`
                std::this_thread::sleep_for(std::chrono::milliseconds(500));
                throw Interrupted("stopped once");
              })),
              ::testing::ExitedWithCode(kExitInterrupted), "tool: stopped once");
  EXPECT_EXIT(::_exit(run_as_main([&] {
                ::kill(::getpid(), SIGINT);
                wait_for_stop();
                for (int i = 0; i < 200; ++i) {  // a persistent user
                  std::this_thread::sleep_for(std::chrono::milliseconds(100));
                  ::kill(::getpid(), SIGINT);
                }
                return 0;
              })),
              ::testing::ExitedWithCode(kExitInterrupted), "");
}

TEST(ProgramTest, TimestampsAreUtcInSeconds) {
  EXPECT_TRUE(std::regex_match(utc_timestamp(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")));
  EXPECT_TRUE(tool_version().starts_with("lime "));
}

TEST(ProgramTest, TheCommandIsQuotedForAShell) {
  CommandLine line("tool", "");
  std::vector<std::string> words;
  line.add_positional("words", words, "");
  std::string command;
  line.on_run([&] {
    command = program_command();
    return 0;
  });
  const char* const arguments[] = {"bin/tool", "a b", "it's", "", "x.h5"};
  EXPECT_EQ(run_program(line, 5, arguments), 0);
  EXPECT_EQ(command, R"(tool 'a b' 'it'\''s' '' x.h5)");
}

}  // namespace
}  // namespace lime
