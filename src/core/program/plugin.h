// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace lime {

/// Returns the path of a library or helper program that is loaded or started at run time:
/// `../lib/lime/FILE` relative to the running program, in the build folder and when installed. It
/// need not exist.
std::filesystem::path plugin_path(const std::string& file);

}  // namespace lime
