// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/matrix.h"

namespace lime {

/// How much the path that a sequence takes through representation space bends.
struct PathCurvature {
  /// Mean angle between one step and the next, in degrees, in [0, 180]; unset where no two
  /// consecutive steps have a length.
  std::optional<double> degrees;
  std::int64_t angles = 0;       ///< how many angles the mean is over
  std::int64_t still_steps = 0;  ///< steps between equal tokens, which have no direction
};

/// Measures the curvature of the path of the tokens of one sequence.
///
///   v_t = x_{t+1} - x_t,   c_t = arccos(<v_t, v_{t+1}> / (|v_t| |v_{t+1}|))
///
/// 0 is a straight line; directions drawn at random have 90, independent points 120 (each step
/// shares a point with the next).
///
/// @param rows  representations in the order of the text, [num_tokens, dim].
/// @throws InvalidArgument  if there are fewer than 3 tokens.
/// Source: Henaff, Goris & Simoncelli (2019), eq. 1 and 2; for language models Hosseini &
/// Fedorenko (2023).
PathCurvature path_curvature(const ConstMatrixRef& rows);

}  // namespace lime
