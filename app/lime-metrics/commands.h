// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/command_line.h"

namespace lime {

// One function per command of lime-metrics, each in its own file: it describes the options and
// leaves the work to src/analysis.

void add_entropy_command(CommandLine& line);

}  // namespace lime
