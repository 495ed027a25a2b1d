// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/entropy/entropy_options.h"

namespace lime {

/// Properties of the smaller Gram matrix of one sequence's preprocessed rows that determine its
/// entropies, computed on any device. For the preset layer-by-layer, those of the matrix with
/// negative elements set to 0.
struct GramSpectrum {
  std::int64_t num_tokens = 0;
  std::int64_t dim = 0;
  double trace = 0.0;
  double squared_norm = 0.0;            ///< squared Frobenius norm; used without eigenvalues
  std::span<const double> eigenvalues;  ///< [min(num_tokens, dim)]; empty if none are needed
};

/// Returns true if some order needs the eigenvalues: order 2 needs only trace and norm.
bool needs_eigenvalues(std::span<const double> orders);

/// Returns the entropies of a sequence in nats, one per order, as the preset defines them.
/// @throws InvalidArgument  as entropy_of_spectrum().
std::vector<double> entropies_of(const GramSpectrum& gram, const EntropyOptions& options);

}  // namespace lime
