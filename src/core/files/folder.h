// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace lime {

/// Whether there is a file or folder at `path`; false where the system does not tell.
bool path_exists(const std::filesystem::path& path);

/// Makes the folder unless it is there; its parent must exist. @throws IoError
void make_folder(const std::filesystem::path& folder);

}  // namespace lime
