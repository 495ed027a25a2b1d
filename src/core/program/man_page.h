// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/program/command_help.h"

namespace lime {

/// Returns the manual page of a program and all its commands, in troff's man macros.
/// @param version  e.g. "lime 0.1.0".
std::string format_man_page(const CommandTree& program, std::string_view version);

}  // namespace lime
