// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace lime {

/// Throws FormatError if `text`, what the file `path` contains, is the pointer that Git LFS puts in
/// the place of a large file that was not downloaded.
void refuse_lfs_pointer(std::string_view text, std::string_view path);

}  // namespace lime
