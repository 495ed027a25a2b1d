// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/matrix.h"

namespace lime {

struct MassiveActivationOptions {
  /// Smallest magnitude, >= 0.
  double threshold = 100.0;
  /// Smallest ratio to the median magnitude of the sequence, >= 1.
  double ratio = 1000.0;

  void validate() const;
};

struct MassiveActivations {
  double share = 0.0;            ///< fraction of massive elements, in [0, 1]
  double token_share = 0.0;      ///< fraction of tokens with at least one, in [0, 1]
  double largest = 0.0;          ///< largest magnitude
  double median = 0.0;           ///< median magnitude; for an even count the lower middle one
  double largest_ratio = 0.0;    ///< largest / median; infinite if the median is 0
  std::int64_t num_massive = 0;  ///< elements
};

/// Counts massive activations: |x| > threshold and |x| >= ratio times the median of the sequence.
///
/// @param rows  [num_tokens, dim], finite.
/// @throws InvalidArgument  if there are no rows, or the options are invalid.
/// Time O(n d): the median comes from a histogram of the exponents and leading digits. Source: Sun,
/// Chen, Kolter & Liu (2024), section 2 ; torch.median as in their code.
MassiveActivations massive_activations(const ConstMatrixRef& rows,
                                       const MassiveActivationOptions& options = {});

/// Returns the element of rank (count - 1) / 2 among the magnitudes of `rows`, counted from 0.
float median_magnitude(const ConstMatrixRef& rows);

}  // namespace lime
