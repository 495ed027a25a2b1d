// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace lime {

/// The verdict of layers without a cause.
inline constexpr std::string_view kNoCause = "none";

/// Returns true if a verdict, the text of findings_text(), names a cause that is certain.
constexpr bool has_certain_cause(std::string_view verdict) {
  constexpr std::string_view kSeparator = ", ";
  constexpr std::string_view kUndecided = " (undecided)";
  if (verdict == kNoCause) return false;
  for (;;) {
    const std::size_t end = verdict.find(kSeparator);
    if (!verdict.substr(0, end).ends_with(kUndecided)) return true;
    if (end == std::string_view::npos) return false;
    verdict.remove_prefix(end + kSeparator.size());
  }
}

}  // namespace lime
