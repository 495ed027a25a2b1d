// SPDX-License-Identifier: Apache-2.0
#include "core/files/folder.h"

#include <system_error>

#include "core/errors.h"
#include "core/files/atomic_file.h"

namespace lime {

bool path_exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

void make_folder(const std::filesystem::path& folder, Parents parents) {
  std::error_code error;
  if (parents == Parents::kCreate) {
    std::filesystem::create_directories(folder, error);
  } else {
    std::filesystem::create_directory(folder, error);
  }
  if (!error) return;
  throw IoError("'{}': the folder cannot be created: {}", folder.string(),
                describe_errno(error.value()));
}

}  // namespace lime
