// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "core/matrix.h"
#include "core/random.h"

namespace lime::testing {

/// Returns normal variates whose columns shrink as 1 / (1 + column)^decay, [rows, cols]: decay 1
/// gives a spectrum that decays like those of trained models.
inline MatrixD random_matrix(Eigen::Index rows, Eigen::Index cols, std::uint64_t seed,
                             double decay = 0.0) {
  Random random(seed);
  MatrixD matrix(rows, cols);
  for (Eigen::Index r = 0; r < rows; ++r) {
    for (Eigen::Index c = 0; c < cols; ++c) {
      matrix(r, c) = random.normal() * std::pow(1.0 + static_cast<double>(c), -decay);
    }
  }
  return matrix;
}

/// The same in float32, as rows of a capture.
inline MatrixF random_rows(Eigen::Index rows, Eigen::Index cols, std::uint64_t seed) {
  return random_matrix(rows, cols, seed).cast<float>();
}

}  // namespace lime::testing
