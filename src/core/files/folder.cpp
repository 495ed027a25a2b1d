// SPDX-License-Identifier: Apache-2.0
#include "core/files/folder.h"

#include <cerrno>
#include <system_error>

#include "core/errors.h"
#include "core/files/atomic_file.h"

namespace lime {

bool path_exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return;
  const bool made = std::filesystem::create_directory(folder, error);
  if (made && !error) return;
  throw IoError("'{}': the folder cannot be created: {}", folder.string(),
                describe_errno(error ? error.value() : EEXIST));
}

}  // namespace lime
