// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lime::testing {

/// Returns the headers and sources below `folder`, sorted.
std::vector<std::filesystem::path> sources_below(const std::filesystem::path& folder);

/// Returns the #include lines of `file`, in order.
std::vector<std::string> include_lines(const std::filesystem::path& file);

/// Returns the text between the quotes or brackets of an #include line.
std::string included_name(const std::string& include_line);

}  // namespace lime::testing
