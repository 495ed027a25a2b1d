// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/program/command_line.h"

namespace lime {

/// Adds `gauge`: a checkpoint with other weights that computes the same function.
void add_gauge_command(CommandLine& line);

}  // namespace lime
