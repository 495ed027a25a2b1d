// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "core/matrix.h"

namespace lime {

/// Returns the median; for an even count the lower middle value.
inline double lower_median(VectorD values) {
  const auto middle = values.begin() + (values.size() - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace lime
