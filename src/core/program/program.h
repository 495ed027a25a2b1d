// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <stop_token>
#include <string>

namespace lime {

class CommandLine;

/// Exit statuses of all programs.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;

/// Runs `line` as main() does: shows an exception as `NAME: what()` on standard error and turns it
/// into an exit status, and so it does where what was printed cannot be written. Ctrl-C and SIGTERM
/// request the stop of interrupt_token(); another one, not within 0.3 s of it, ends the process at
/// once.
int run_program(CommandLine& line, int argc, const char* const* argv);

/// Prints `NAME: warning: text` on standard error, a line for each.
void print_warnings(std::span<const std::string> texts);

/// Hands what was printed to whoever reads standard output: now, not when the program ends.
/// @throws IoError  if it cannot be written, as to a full disk.
void flush_output();

/// Requested when the user presses Ctrl-C or the batch system sends SIGTERM.
std::stop_token interrupt_token();

/// "lime 0.1.0 (abc1234)": stored with every file that a program writes.
std::string tool_version();

/// The command line that this process was started with, quoted for a shell.
const std::string& program_command();

/// The present time as "2026-11-21T04:10:33Z".
std::string utc_timestamp();

}  // namespace lime
