// SPDX-License-Identifier: Apache-2.0
#include "metrics/geometry/path_curvature.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/errors.h"

namespace lime {
namespace {

struct Step {
  VectorD vector;
  double length = 0.0;

  void set(const ConstMatrixRef& rows, Eigen::Index from) {
    vector =
        rows.row(from + 1).transpose().cast<double>() - rows.row(from).transpose().cast<double>();
    length = vector.norm();
  }
};

}  // namespace

PathCurvature path_curvature(const ConstMatrixRef& rows) {
  const Eigen::Index tokens = rows.rows();
  throw_if(tokens < 3, "curvature: a sequence must have at least 3 tokens, got {}", tokens);
  PathCurvature result;
  double sum = 0.0;
  Step step;
  Step next;
  step.set(rows, 0);
  for (Eigen::Index t = 1; t + 1 < tokens; ++t) {
    next.set(rows, t);
    if (step.length > 0.0 && next.length > 0.0) {
      const double cosine = step.vector.dot(next.vector) / (step.length * next.length);
      sum += std::acos(std::clamp(cosine, -1.0, 1.0));
      ++result.angles;
    }
    if (step.length == 0.0) ++result.still_steps;
    std::swap(step, next);
  }
  if (step.length == 0.0) ++result.still_steps;
  if (result.angles > 0) {
    result.degrees = sum / static_cast<double>(result.angles) * 180.0 / std::numbers::pi;
  }
  return result;
}

}  // namespace lime
