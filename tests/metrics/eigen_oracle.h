// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/matrix.h"

// What Eigen's decompositions say, compiled once: each takes the compiler seconds.
namespace lime::testing {

/// Eigenvalues of a symmetric matrix, the smallest first.
VectorD eigenvalues_by_eigen(const MatrixD& symmetric);

/// Singular values, the largest first.
VectorD singular_values_by_eigen(const MatrixD& matrix);

/// An orthogonal matrix of `size` rows.
MatrixD random_rotation(Eigen::Index size, std::uint64_t seed);

}  // namespace lime::testing
