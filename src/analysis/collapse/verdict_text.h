// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace lime {

/// The verdict of layers without a cause.
inline constexpr std::string_view kNoCause = "none";

}  // namespace lime
