// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/matrix.h"

namespace lime {

/// Compares the first token of a sequence with the others: in many trained models it has a massive
/// norm, and then it alone decides entropies and ranks of the sequence.
struct FirstToken {
  /// |x_0| over the median norm of all tokens, the lower middle one; unset if that is 0.
  std::optional<double> norm_ratio;
  /// sigma_1^2 / sum sigma_k^2 of the rows, in (0, 1]; near 1 they are collinear.
  std::optional<double> top_share;
  /// `top_share` of the rows after the first.
  std::optional<double> top_share_rest;
};

/// @param rows  [num_tokens >= 2, dim], finite. @throws InvalidArgument
/// Source: Queipo-de-Llano et al. (2025), arXiv:2510.06477.
FirstToken measure_first_token(const ConstMatrixRef& rows);

/// Computes the largest eigenvalue of X^T X by Lanczos iterations without forming the matrix.
///
/// Iterates until the residual of the eigenpair is below 1e-6 relative; the eigenvalue's error is
/// of the order of its square over the gap. Time 4 rows dim per iteration, of which there are 5
/// to 50.
/// @param rows  X, [num_rows >= 1, dim], finite.
double largest_gram_eigenvalue(const ConstMatrixRef& rows);

}  // namespace lime
