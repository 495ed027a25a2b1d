// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/matrix.h"

namespace lime {

struct PathCurvature {
  /// Mean angle between consecutive steps of non-zero length, in degrees; unset if there are none.
  std::optional<double> degrees;
  std::int64_t angles = 0;       ///< number of angles in the mean
  std::int64_t still_steps = 0;  ///< steps between equal tokens, which have no direction
};

/// Measures the curvature of the path of the tokens of one sequence.
///
///   v_t = x_{t+1} - x_t,   c_t = arccos(<v_t, v_{t+1}> / (|v_t| |v_{t+1}|))
///
/// 0 is a straight line; random directions give 90, independent points 120.
///
/// @param rows  representations in text order, [num_tokens, dim].
/// @throws InvalidArgument  if there are fewer than 3 tokens.
/// Source: Henaff, Goris & Simoncelli (2019), eq. 1, 2; Hosseini & Fedorenko (2023).
PathCurvature path_curvature(const ConstMatrixRef& rows);

}  // namespace lime
