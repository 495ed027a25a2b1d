// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lime {

/// `text` in single quotes: one word of any of the shells.
std::string single_quoted(std::string_view text);

/// `text` as a POSIX shell takes it for one word: as it is where no letter means more, else quoted.
std::string shell_word(std::string_view text);

}  // namespace lime
