// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace lime {

struct FigureSize {
  double width_mm = 0.0;
  std::optional<double> height_mm = {};      ///< unset: as the panels require
  std::optional<double> max_height_mm = {};  ///< of a page; unset: unlimited
};

/// Parses a size, "WIDTHxHEIGHT" or "WIDTH" in mm, or its name, e.g. "acl-page".
/// @throws InvalidArgument that lists the names.
FigureSize figure_size(std::string_view text);

}  // namespace lime
