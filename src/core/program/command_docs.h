// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/program/command_help.h"

namespace lime {

/// Describes a program or command and its subcommands.
struct CommandTree {
  CommandHelp help;
  std::vector<CommandTree> commands;
};

/// Returns the manual page of a program and all its commands, in troff's man macros.
/// @param version  e.g. "lime 0.1.0".
std::string format_man_page(const CommandTree& program, std::string_view version);

/// Returns a script that completes commands, options, choices and files of a program.
/// @param shell  bash, zsh or fish.
/// @throws InvalidArgument  if it is another.
std::string format_completion(const CommandTree& program, std::string_view shell);

}  // namespace lime
