// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <stop_token>
#include <string>

#include "core/errors.h"

namespace lime {

/// Returns `../lib/lime/FILE` relative to the running program: a library or helper program.
std::filesystem::path plugin_path(const std::string& file);

class CommandLine;

/// Exit statuses of all programs.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;
inline constexpr int kExitOutputClosed = 141;  ///< as shells report a process that SIGPIPE ended

/// The reader of standard output is gone, as of `| head`. run_program() ends without a message.
class OutputClosed : public IoError {
 public:
  using IoError::IoError;
};

/// Runs `line` for main(): prints an exception as `NAME: what()` on standard error and converts it
/// into an exit status; the same if standard output cannot be written. SIGPIPE is ignored, so that
/// a program whose output nobody reads removes its temporary files. Ctrl-C and SIGTERM request
/// the stop of interrupt_token(); another one, more than 0.3 s later, ends the process at once.
int run_program(CommandLine& line, int argc, const char* const* argv);

/// Prints `NAME: warning: text` on standard error, one line each.
void print_warnings(std::span<const std::string> texts);

/// Flushes standard output.
/// @return false if its reader is gone; further output is then discarded.
/// @throws IoError  if it cannot be written, as to a full disk.
bool flush_output();

/// Returns the token that requests a stop after Ctrl-C, or after SIGTERM from the batch system.
std::stop_token interrupt_token();

/// Returns e.g. "lime 0.1.0 (abc1234)", which is stored with every file that a program writes.
std::string tool_version();

/// Returns the command line of this process, quoted for a shell.
const std::string& program_command();

/// Returns the current time as "2026-11-21T04:10:33Z".
std::string utc_timestamp();

}  // namespace lime
