// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/matrix.h"

namespace lime {

/// What can be said of each token of a sequence from its own row and the next one's.
struct TokenProfile {
  VectorD norm;  ///< [num_tokens], |x_t|
  VectorD
      relative_norm;    ///< [num_tokens], |x_t| over the median of the sequence; 0 where that is 0
  VectorD next_cosine;  ///< [num_tokens - 1], cosine of x_t and x_{t+1}; 0 where one of them is 0
};

/// Measures the tokens of one sequence. The median is the lower one of two, so that it is a norm
/// that occurs.
///
/// A relative norm far above 1 marks what Sun, Chen, Kolter & Liu (2024, arXiv:2402.17762) call
/// massive activations; cosines near 1 from token to token are the oversmoothing of neighbours.
/// @param rows  in the order of the text, [num_tokens, dim], num_tokens >= 1.
/// @throws InvalidArgument  if there is no token or a value is not finite.
TokenProfile token_profile(const ConstMatrixRef& rows);

}  // namespace lime
