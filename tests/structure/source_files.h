// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lime::testing {

/// The headers and sources below `folder`, sorted.
std::vector<std::filesystem::path> sources_below(const std::filesystem::path& folder);

/// The #include lines of `file`, in their order.
std::vector<std::string> include_lines(const std::filesystem::path& file);

/// What stands between the quotes or brackets of an #include line.
std::string included_name(const std::string& include_line);

}  // namespace lime::testing
