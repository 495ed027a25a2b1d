// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/matrix.h"

// Eigen's decompositions as oracles, compiled once: each takes seconds to compile.
namespace lime::testing {

/// Returns the eigenvalues of a symmetric matrix, ascending.
VectorD eigenvalues_by_eigen(const MatrixD& symmetric);

/// Returns the singular values, descending.
VectorD singular_values_by_eigen(const MatrixD& matrix);

/// Returns a random orthogonal matrix of `size` rows.
MatrixD random_rotation(Eigen::Index size, std::uint64_t seed);

}  // namespace lime::testing
