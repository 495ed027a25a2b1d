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
/// A Lanczos method can take a multiple eigenvalue for a single one. So a second run looks, with
/// the eigenvectors found deflated, for an eigenvalue that should have been among them.
///
/// @param rows   Z, [num_rows, num_cols].
/// @param count  >= 1.
/// @return [count], descending; nothing if count is too near min(num_rows, num_cols) for the
///         method, if it does not converge, or if the second run finds that one is missing: then
///         compute all eigenvalues.
/// Time O(num_rows num_cols count) per restart; deterministic, single-threaded.
std::optional<std::vector<double>> leading_gram_eigenvalues(const MatrixD& rows,
                                                            std::int64_t count);

}  // namespace lime
