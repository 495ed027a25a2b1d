// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace lime {

/// Bounds of an entropy, in nats.
struct EntropyBounds {
  double lower = 0.0;
  double upper = 0.0;
};

/// Bounds the entropy of a spectrum from its leading eigenvalues.
///
/// With p_i = lambda_i / trace, the m = num_eigenvalues - k unknown ones are in [0, p_k] and sum to
/// r = 1 - (p_1 + ... + p_k). The Renyi entropy of every order is Schur-concave, so it is
///   largest  if they are equal, r / m each, and
///   smallest if they are as unequal as possible: as many as fit at p_k, one with the rest.
/// Both are attained, so the bounds are tight. They coincide for alpha = inf.
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
