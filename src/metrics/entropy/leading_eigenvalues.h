// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/matrix.h"

namespace lime {

/// Computes the `count` largest eigenvalues of Z Z^T by a restarted Lanczos method (Spectra),
/// without forming the matrix.
///
/// A Lanczos method can mistake a multiple eigenvalue for a single one. So a second run, with the
/// found eigenvectors deflated, searches for a missing eigenvalue.
///
/// @param rows   Z, [num_rows, num_cols].
/// @param count  >= 1.
/// @return [count], descending; nothing if count is too close to min(num_rows, num_cols) for the
///         method, if it does not converge, or if the second run finds a missing one: then compute
///         all eigenvalues.
/// Time O(num_rows num_cols count) per restart; deterministic, single-threaded.
std::optional<std::vector<double>> leading_gram_eigenvalues(const MatrixD& rows,
                                                            std::int64_t count);

}  // namespace lime
