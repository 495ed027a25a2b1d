// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/command_line.h"

namespace lime {

// One function per command of lime-metrics, each in its own file. A new measurement is
// src/analysis/NAME_analysis.{h,cpp}, which makes a Report of captures, NAME_command.cpp here,
// which describes its options and calls run_report(), and its line in main.cpp.

void add_entropy_command(CommandLine& line);

}  // namespace lime
