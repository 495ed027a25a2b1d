// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace lime {

/// Returns true if there is a file or folder at `path`; false if the system does not tell.
bool path_exists(const std::filesystem::path& path);

/// Selects if make_folder() also creates the parent folders.
enum class Parents { kMustExist, kCreate };

/// Creates the folder unless it exists. @throws IoError
void make_folder(const std::filesystem::path& folder, Parents parents = Parents::kMustExist);

}  // namespace lime
