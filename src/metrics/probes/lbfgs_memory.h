// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "core/matrix.h"

namespace lime::probes {

/// Recent steps of a minimisation and the gradient changes over them: an approximate Hessian.
///
/// The search direction is -H g, where H = second_loop(H0 first_loop(g)) and H0 is the caller's
/// estimate.
/// Source: Nocedal (1980), Updating quasi-Newton matrices with limited storage, Math. Comp. 35.
class LbfgsMemory {
 public:
  explicit LbfgsMemory(std::size_t capacity) : capacity_(capacity) {}

  /// Stores a step and the change of the gradient over it; drops the oldest when full. Pairs whose
  /// curvature is lost in rounding are not stored.
  void add(VectorD step, VectorD change);
  void first_loop(VectorD& vector);
  void second_loop(VectorD& vector) const;
  bool empty() const { return pairs_.empty(); }
  void clear() { pairs_.clear(); }

 private:
  struct Pair {
    VectorD step;
    VectorD change;
    double inverse_curvature = 0.0;
    double factor = 0.0;
  };
  std::size_t capacity_;
  std::deque<Pair> pairs_;
};

}  // namespace lime::probes
