// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/program/command_line.h"
#include "metric_commands.h"

namespace lime {

/// `rerun RESULTS.json`: repeats a result with one of `commands`, which must outlive `line`.
void add_rerun_command(CommandLine& line, const MetricCommands& commands);

}  // namespace lime
