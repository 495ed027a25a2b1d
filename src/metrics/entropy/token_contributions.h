// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>

#include "core/matrix.h"

namespace lime {

class ThreadPool;

/// What each token gives to the matrix entropy of its sequence.
struct TokenContributions {
  double entropy = 0.0;   ///< S of the whole sequence, nats
  VectorD contributions;  ///< [num_tokens], nats
};

/// Computes by how much the entropy of a sequence falls where a token is left out:
///
///   c_t = S_alpha(Z) - S_alpha(Z without row t),    S_alpha as matrix_renyi_entropy()
///
/// High: the token adds directions that the others lack, or evens the spectrum out. Below 0: it
/// outweighs the others, and the rest spreads more evenly without it. What is left of a sequence
/// whose other rows are all 0 has entropy 0.
///
/// Exact: Z^T Z - z_t z_t^T = V (L - w w^T) V^T with the eigenvectors V and eigenvalues L of Z^T Z
/// and w = V^T z_t, whose eigenvalues are the roots of
///
///   1 = sum_i w_i^2 / (L_i - m),    one between each two neighbours of 0 <= L_1 <= ... <= L_r,
///
/// so that all tokens together need one eigendecomposition.
///
/// @param representations  Z, [num_tokens, dim], num_tokens >= 2; standardised beforehand.
/// @param alpha            order, > 0; infinity is allowed.
/// @param pool             tokens run side by side; the bits do not depend on its threads.
/// @throws InvalidArgument  if there are fewer than two tokens, Z is all zero or not finite, or
///                          alpha is out of range.
/// @throws Interrupted
/// Time O(n r^2) for the roots, r = min(n, d), and O(n d r + r^3) for the eigenvectors. In double.
/// Source of the secular equation: Golub (1973), Some modified matrix eigenvalue problems, SIAM
/// Review 15(2), section 5.
TokenContributions token_contributions(const ConstMatrixRefD& representations, double alpha,
                                       ThreadPool& pool, std::stop_token stop = {});

}  // namespace lime
