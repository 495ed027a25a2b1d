// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace lime {

/// Where a library lies that is loaded while the program runs: `../lib/lime/FILE` seen from the
/// running program, in the build folder and when installed. It need not exist.
std::filesystem::path plugin_path(const std::string& file);

}  // namespace lime
