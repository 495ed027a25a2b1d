// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/program/command_help.h"

namespace lime {

/// Returns a script that completes commands, options, choices and files in bash, zsh or fish.
/// @throws InvalidArgument  for another shell.
std::string format_completion(const CommandTree& program, std::string_view shell);

}  // namespace lime
