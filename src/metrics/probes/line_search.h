// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

namespace lime::probes {

/// Newton's method for the minimum of a convex function along a line, restricted to the bracket
/// given by the slopes of earlier trials. Starts with step 1, which quasi-Newton directions expect.
class LineSearch {
 public:
  LineSearch() = default;  ///< no search: step 0
  /// @param start_slope  slope at step 0, < 0
  explicit LineSearch(double start_slope) : start_slope_(start_slope), step_(1.0) {}

  double step() const { return step_; }
  /// Returns true if the slope at step() is sufficiently smaller than the start slope.
  bool accepts(double slope) const { return std::abs(slope) <= kSlopeShare * -start_slope_; }
  /// Moves to another step. @param slope, curvature  at step()
  void move(double slope, double curvature) {
    (slope > 0.0 ? high_ : low_) = step_;
    const double newton = step_ - slope / curvature;
    if (newton > low_ && newton < high_) {
      step_ = newton;
    } else {
      step_ = std::isfinite(high_) ? 0.5 * (low_ + high_) : 2.0 * step_;
    }
  }

 private:
  static constexpr double kSlopeShare = 0.3;
  double start_slope_ = 0.0;
  double step_ = 0.0;
  double low_ = 0.0;
  double high_ = std::numeric_limits<double>::infinity();
};

}  // namespace lime::probes
