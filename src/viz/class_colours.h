// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "viz/series_style.h"

namespace lime {

/// Returns the colours of classes of points, SeriesStyle::colour: steps of the sequential palette
/// in the order of their numbers if all names are numbers, steps in their own order if there are
/// more than kGroupColours, else groups. "other" is muted.
std::vector<std::size_t> class_colours(std::span<const std::string> names);

}  // namespace lime
