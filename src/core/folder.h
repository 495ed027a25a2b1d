// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace lime {

/// Makes the folder unless it is there; its parent must exist. @throws IoError
void make_folder(const std::filesystem::path& folder);

}  // namespace lime
