// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/matrix.h"
#include "metrics/tsne/tsne.h"

namespace lime {

/// Returns the root mean square distance of the points from their mean.
/// @param embedding  [num_points, 2]
double radius_of(const ConstMatrixRefD& embedding);

/// Returns what is wrong with the extent of an embedding, or an empty text: half the radius of an
/// initial embedding is lost (points that coincide), or it is far larger than t-SNE makes one.
std::string extent_fault(const ConstMatrixRefD& embedding);

/// Returns what is wrong with an embedding beside that of the previous layer, or an empty text: its
/// radius is 1000 times larger or smaller, so that one of them has diverged.
std::string radius_fault(const ConstMatrixRefD& before, const ConstMatrixRefD& after);

namespace tsne_detail {

/// Fraction of the radius of its start below which an embedding has lost its layout.
inline constexpr double kLeastRadius = 0.5;

/// Checks that a run improved on its start.
/// @param start_divergence  of the initial embedding
/// @throws NumericalError  if the points coincide or are thrown apart, or if the run ended above
///         the divergence of its start; names a remedy.
void check_result(const TsneResult& result, const TsneOptions& options, double start_divergence);

}  // namespace tsne_detail
}  // namespace lime
