// SPDX-License-Identifier: Apache-2.0
#include "core/program/plugin.h"

#include <system_error>

namespace lime {

std::filesystem::path plugin_path(const std::string& file) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / "lime" / file;
}

}  // namespace lime
