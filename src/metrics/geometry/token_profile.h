// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/matrix.h"

namespace lime {

/// Measures of each token of a sequence that use only its row and the next one.
struct TokenProfile {
  VectorD norm;           ///< [num_tokens], |x_t|
  VectorD relative_norm;  ///< [num_tokens], |x_t| over the median of the sequence; 0 if that is 0
  VectorD next_cosine;    ///< [num_tokens - 1], cosine of x_t and x_{t+1}; 0 if either is 0
};

/// Measures the tokens of one sequence. An even number has the lower middle one as median.
///
/// Relative norms far above 1 indicate massive activations, cosines near 1 oversmoothing.
/// @param rows  in text order, [num_tokens, dim], num_tokens >= 1.
/// @throws InvalidArgument  if there is no token or a value is not finite.
TokenProfile token_profile(const ConstMatrixRef& rows);

}  // namespace lime
