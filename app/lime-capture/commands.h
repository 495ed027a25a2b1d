// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/program/command_line.h"

namespace lime {

/// Makes `line` itself run a capture.
void set_up_capture(CommandLine& line);

/// Adds `info`, `verify` and `pack`, which work on capture files and need no model.
void add_file_commands(CommandLine& line);

}  // namespace lime
