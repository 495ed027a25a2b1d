// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/matrix.h"

namespace lime {

/// Centres `points` and turns them by the rotation or reflection that minimises their distance to
/// the centred `target`. Neither changes the divergence of an embedding.
/// @param points, target  [num_points, 2]
MatrixD aligned_embedding(const ConstMatrixRefD& points, const ConstMatrixRefD& target);

}  // namespace lime
