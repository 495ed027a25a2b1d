// SPDX-License-Identifier: Apache-2.0
// What core/program declares about the running program, for one that is Python.
#include "core/program/program.h"

#include <dlfcn.h>

#include "core/version.h"

namespace lime {

/// Returns FILE in the folder of the shared library of this module, where pip installs the helper.
std::filesystem::path plugin_path(const std::string& file) {
  static const char place = 0;
  Dl_info info{};
  if (::dladdr(&place, &info) == 0 || info.dli_fname == nullptr) return file;
  return std::filesystem::path(info.dli_fname).parent_path() / file;
}

std::string tool_version() { return std::string("lime-toolkit ") + kVersion; }

}  // namespace lime
