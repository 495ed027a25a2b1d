// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>
#include <string>
#include <vector>

namespace lime {

/// Runs another program of the toolkit, which is in the folder of the running one, and waits for
/// its end. Its standard output is this program's standard error.
/// @param stop  sends SIGTERM to the program
/// @return its exit status; 128 plus the signal that ended it.
/// @throws IoError  if it cannot be started. @throws Interrupted  if `stop` was requested.
int run_child_program(const std::string& name, const std::vector<std::string>& arguments,
                      const std::stop_token& stop);

}  // namespace lime
