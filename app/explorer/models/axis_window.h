// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lime::explorer {

/// Stores an interval of an axis, in the units of the axis.
struct AxisWindow {
  double low = 0.0;
  double high = 1.0;

  bool operator==(const AxisWindow&) const = default;
};

}  // namespace lime::explorer
