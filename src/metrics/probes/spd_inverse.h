// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/matrix.h"

namespace lime {

class ThreadPool;

namespace probes {

/// Replaces a symmetric positive definite matrix by its inverse.
///
/// Uses the blocked sweep operator: d^3 flops, all in products of blocks, in an order that does not
/// depend on the number of threads. Reads only the lower triangle; writes both.
/// @return false, with undefined `matrix`, if it is not positive definite in this precision.
/// Source: Goodnight (1979), A tutorial on the SWEEP operator, The American Statistician 33(3).
template <typename Matrix>
bool invert_positive_definite(Matrix& matrix, ThreadPool& pool);

extern template bool invert_positive_definite(MatrixF&, ThreadPool&);
extern template bool invert_positive_definite(MatrixD&, ThreadPool&);

}  // namespace probes
}  // namespace lime
