// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/matrix.h"

namespace lime {

/// Computes the matrix-based Renyi entropy of the representations of one sequence.
///
///   K = Z Z^T / tr(Z Z^T),    S_alpha(Z) = log(sum_i lambda_i(K)^alpha) / (1 - alpha)
///
/// Near 0 all tokens are on one line (representation collapse); at the maximum the spectrum is
/// flat. alpha = 1 is the Shannon (von Neumann) limit, alpha = inf the min-entropy.
///
/// @param representations  Z, [num_tokens, dim]. Neither centred nor standardised here:
///                         see standardize() for the preprocessing of the LIMe analysis.
/// @param alpha            order, > 0; infinity is allowed.
/// @return entropy in nats, in [0, log(min(num_tokens, dim))] up to rounding.
/// @throws InvalidArgument  if Z is empty, all zero or not finite, or alpha is out of range.
///
/// Accumulates in double. Time O(n d min(n, d)): uses the smaller of Z Z^T and Z^T Z, and no
/// eigenvalues if alpha = 2. Thread-safe: no shared state.
/// Source: Sanchez Giraldo, Rao & Principe (2015), arXiv:1211.2459.
double matrix_renyi_entropy(const ConstMatrixRef& representations, double alpha);
double matrix_renyi_entropy(const ConstMatrixRefD& representations, double alpha);

/// Computes the Renyi entropy of a spectrum.
///
///   p_i = max(lambda_i, 0) / trace,    S_alpha = log(sum_i p_i^alpha) / (1 - alpha)
///
/// Eigenvalues that are negative due to rounding count as 0, but the given trace is unchanged, as
/// in the LIMe code; the p_i then sum to 1 up to rounding. Within 1e-3 of alpha = 1 the sum is
/// computed as 1 + sum p (p^(alpha - 1) - 1), which has no cancellation at the limit.
///
/// @param eigenvalues  in any order.
/// @param trace        divisor of the eigenvalues, > 0.
/// @param alpha        order, > 0; 1 is the Shannon limit, infinity gives -log(max p).
/// @return entropy in nats.
/// @throws InvalidArgument  if the spectrum is empty or not finite, or trace or alpha is out of
///                          range.
double entropy_of_spectrum(std::span<const double> eigenvalues, double trace, double alpha);

/// Returns the maximum entropy of representations of this shape, for any order: log(min(num_tokens,
/// dim)), in nats. @throws InvalidArgument  if a size is below 1.
double entropy_ceiling(std::int64_t num_tokens, std::int64_t dim);

/// @throws InvalidArgument  unless alpha > 0; infinity is allowed, NaN is not.
void check_entropy_order(double alpha);

}  // namespace lime
