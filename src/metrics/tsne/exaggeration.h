// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to metrics/tsne.

#include <cstdint>

#include "core/matrix.h"
#include "metrics/tsne/gradient_descent.h"
#include "metrics/tsne/tsne.h"

namespace lime::tsne_detail {

/// The exaggeration of each iteration: constant, then falling to 1 as a parabola.
///
/// With a strong exaggeration, points whose graph of neighbours is well connected contract without
/// end: the attraction exceeds the repulsion in every direction, and the layout falls below the
/// resolution of floating-point numbers. The run then restarts from its start with a weaker one.
class Exaggeration {
 public:
  Exaggeration(const TsneOptions& options, MatrixD start);

  /// Returns whether the exaggeration is still constant. @param iteration  from 1
  bool is_early(std::int64_t iteration) const { return iteration <= constant_until_; }
  bool is_over(std::int64_t iteration) const { return iteration > until_; }
  double at(std::int64_t iteration) const;

  /// Restarts `descent` before an iteration: with a weaker exaggeration if the embedding has
  /// contracted, and at the end of both phases, where clusters that contracted to a point get the
  /// layout of the start back at the scale of 1e-4.
  void prepare(std::int64_t iteration, GradientDescent& descent);

 private:
  std::int64_t constant_until_;
  std::int64_t until_;
  double strongest_;
  MatrixD start_;
  double start_radius_;
};

}  // namespace lime::tsne_detail
