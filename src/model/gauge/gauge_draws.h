// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "core/random.h"

namespace lime {

/// Draws the random numbers of a gauge: the same for a seed on every machine.
class GaugeDraws {
 public:
  /// @param strength  >= 0; 0 gives factors of 1 and rotations that change nothing
  GaugeDraws(std::uint64_t seed, double strength) : random_(seed), strength_(strength) {}

  /// Returns exp(strength * z) with z standard normal, float64 [count].
  at::Tensor factors(std::int64_t count);
  /// Returns a uniform permutation, int64 [count].
  at::Tensor permutation(std::int64_t count);
  /// Returns an orthogonal matrix, float64 [size, size]: Q of the QR decomposition of
  /// I + strength / sqrt(size) * G with G standard normal.
  /// @param keeps_mean  it maps the vector of ones to itself, as LayerNorm requires
  at::Tensor rotation(std::int64_t size, bool keeps_mean = false);

 private:
  Random random_;
  double strength_;
};

}  // namespace lime
