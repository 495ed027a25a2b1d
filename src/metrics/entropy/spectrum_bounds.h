// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace lime {

/// Between which values an entropy must lie, in nats.
struct EntropyBounds {
  double lower = 0.0;
  double upper = 0.0;
};

/// Bounds the entropy of a spectrum of which only the leading eigenvalues are known.
///
/// With p_i = lambda_i / trace, the m = num_eigenvalues - k unknown ones are in [0, p_k] and sum to
/// r = 1 - (p_1 + ... + p_k). The Renyi entropy of every order is Schur-concave, so that it is
///   largest  where they are equal, r / m each, and
///   smallest where they are as unequal as can be: as many as fit at p_k, one with what remains.
/// Both are attained: without knowing more, no bounds are closer. They meet for alpha = inf.
///
/// @param leading          the k largest eigenvalues, descending, not empty.
/// @param trace            sum of all eigenvalues, > 0.
/// @param num_eigenvalues  >= k.
/// @throws InvalidArgument  if a size or alpha is out of range, or `leading` is not descending and
///                          non-negative.
/// Source: Marshall, Olkin & Arnold (2011), Inequalities: Theory of Majorization, ch. 3.
EntropyBounds entropy_bounds(std::span<const double> leading, double trace,
                             std::int64_t num_eigenvalues, double alpha);

}  // namespace lime
