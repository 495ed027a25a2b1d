// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>

#include "core/matrix.h"
#include "core/threads/thread_pool.h"

namespace lime {

/// Orders whose contributions are integrals.
inline constexpr double kMinIntegrated = 0.1;
inline constexpr double kMaxIntegrated = 0.9;

struct TokenContributions {
  double entropy = 0.0;   ///< S of the whole sequence, nats
  VectorD contributions;  ///< [num_tokens], nats
};

/// Computes the decrease of the entropy of a sequence when a token is left out:
///
///   c_t = S_alpha(Z) - S_alpha(Z without row t),    S_alpha as matrix_renyi_entropy()
///
/// High: the token adds directions that the others lack, or flattens the spectrum. Below 0: it
/// dominates the others, whose spectrum is flatter without it.
///
/// Exact: Z^T Z - z_t z_t^T = V (L - w w^T) V^T with the eigenvectors V and eigenvalues L of Z^T Z
/// and w = V^T z_t. Its eigenvalues are the roots of
///
///   1 = sum_i w_i^2 / (L_i - m),    one between adjacent values of 0 <= L_1 <= ... <= L_r,
///
/// so all tokens together need one eigendecomposition. The entropy of an order alpha in
/// [kMinIntegrated, kMaxIntegrated] needs no roots but
///
///   sum_i m_i^alpha = sum_i L_i^alpha
///                     + alpha sin(pi alpha) / pi * integral_0^inf s^(alpha - 1) g(s) ds,
///   g(s) = log(1 - sum_i w_i^2 / (L_i + s)),
///
/// the trapezoidal rule of which converges exponentially in log s.
///
/// @param representations  Z, [num_tokens, dim], num_tokens >= 2; standardised beforehand.
/// @param alpha            order, > 0; infinity is allowed.
/// @param pool             processes tokens in parallel; bit-identical for any number of threads.
/// @throws InvalidArgument  if there are < 2 tokens, Z is zero or not finite, or alpha invalid.
/// @throws Interrupted
/// Time O(n d r + r^3) for the eigenvectors, r = min(n, d), and O(n r) for the integrals or O(n
/// r^2) for the roots. In double. Source of the secular equation: Golub (1973), SIAM Review 15(2),
/// section 5. The integral is that of x^alpha = sin(pi alpha) / pi * integral_0^inf s^(alpha - 1) x
/// / (x + s) ds, by parts.
TokenContributions token_contributions(const ConstMatrixRefD& representations, double alpha,
                                       ThreadPool& pool, std::stop_token stop = {});

}  // namespace lime
