// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <system_error>

namespace lime::explorer {

/// Returns `path` as an absolute path without "." and "..". Paths of documents are compared so.
inline std::filesystem::path wholePath(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::absolute(path, error).lexically_normal();
}

}  // namespace lime::explorer
