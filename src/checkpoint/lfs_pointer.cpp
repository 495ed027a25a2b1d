// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/lfs_pointer.h"

#include "core/errors.h"

namespace lime {

void refuse_lfs_pointer(std::string_view text, std::string_view path) {
  if (!text.starts_with("version https://git-lfs.github.com/spec/")) return;
  throw FormatError(
      "'{}': is a Git LFS pointer, and the file itself was not downloaded; run 'git lfs pull' in "
      "its folder",
      path);
}

}  // namespace lime
