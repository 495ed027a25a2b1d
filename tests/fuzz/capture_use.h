// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace lime::fuzz {

/// Reads everything in the capture at `path`, then verifies it.
void use_capture(const std::filesystem::path& path);

}  // namespace lime::fuzz
