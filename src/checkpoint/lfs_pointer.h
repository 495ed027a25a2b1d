// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace lime {

/// Throws FormatError if `text`, the contents of the file `path`, is the pointer of Git LFS for a
/// large file that was not downloaded.
void refuse_lfs_pointer(std::string_view text, std::string_view path);

}  // namespace lime
