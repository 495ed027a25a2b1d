// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to metrics/tsne.

#include <cstdint>
#include <vector>

#include "metrics/linalg/simd_float.h"

namespace lime::tsne_detail {

/// Computes the discrete Fourier transforms of kFloatLanes sequences side by side, in float32:
///
///   Z_k = sum_j z_j exp(-2 pi i j k / length)
///
/// A sequence lies in one lane; element j is a register of real and one of imaginary parts, at
/// [j * kFloatLanes]. The inverse, without the factor 1 / length, is the same with the real and
/// imaginary parts exchanged on the way in and out.
/// Thread-safe. Source: Stockham's algorithm, van Loan (1992), "Computational Frameworks for the
/// Fast Fourier Transform", section 1.7.
class LaneFourier {
 public:
  /// @param length  2^a, 3 * 2^a or 5 * 2^a, >= 1; see good_length().
  explicit LaneFourier(std::int64_t length);

  std::int64_t length() const { return length_; }
  /// Number of floats of each part: length * kFloatLanes.
  std::int64_t size() const { return length_ * linalg::kFloatLanes; }

  /// The real and the imaginary parts of kFloatLanes sequences.
  struct Lanes {
    float* real;
    float* imag;
  };
  /// Transforms `data`, using `work` of the same size; the result is where the return value says.
  Lanes transform(Lanes data, Lanes work) const;

  /// The smallest length >= `wanted` that is supported.
  static std::int64_t good_length(std::int64_t wanted);

 private:
  struct Pass {
    int radix;
    std::int64_t length;  // of the sub-sequences that this pass splits
    std::int64_t stride;  // length_ / length
    std::size_t first_twiddle;
  };

  std::int64_t length_;
  std::vector<Pass> passes_;
  std::vector<float> twiddle_;  // cos, sin
};

}  // namespace lime::tsne_detail
