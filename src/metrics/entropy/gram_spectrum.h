// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/entropy/entropy_options.h"

namespace lime {

/// What the entropies of one sequence are made of, wherever it was computed: the smaller Gram
/// matrix of its preprocessed rows, in numbers. For the preset layer-by-layer that of the matrix
/// whose negative elements became 0.
struct GramSpectrum {
  std::int64_t num_tokens = 0;
  std::int64_t dim = 0;
  double trace = 0.0;
  double squared_norm = 0.0;            ///< squared Frobenius norm; read where eigenvalues are not
  std::span<const double> eigenvalues;  ///< [min(num_tokens, dim)]; empty where none are needed
};

/// Whether some order needs the eigenvalues: order 2 has enough of trace and norm.
bool needs_eigenvalues(std::span<const double> orders);

/// The entropies of a sequence in nats, one per order, as the preset defines them.
/// @throws InvalidArgument  as entropy_of_spectrum().
std::vector<double> entropies_of(const GramSpectrum& gram, const EntropyOptions& options);

}  // namespace lime
