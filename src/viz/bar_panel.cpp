// SPDX-License-Identifier: Apache-2.0
#include "viz/bar_panel.h"

#include <algorithm>

namespace lime {

double usual_lines_per_group(std::size_t groups, std::size_t bars) {
  constexpr std::size_t kMany = 30;
  const auto count = static_cast<double>(bars);
  return groups > kMany ? std::max(1.1, 0.6 * count) : std::max(1.5, 0.8 * count);
}

}  // namespace lime
