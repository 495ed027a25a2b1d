// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/gram_spectrum.h"

#include <algorithm>
#include <cmath>

#include "metrics/entropy/matrix_entropy.h"

namespace lime {
namespace {

/// Follows the Layer by Layer code: negative elements of the Gram matrix are set to 0; its positive
/// eigenvalues are divided by their own sum. Order 2 uses the squared Frobenius norm, but divides
/// it by the squared size of the matrix, which equals the squared trace only if the diagonal is 1:
/// with more tokens than dimensions the value is low by 2 ln(N / D).
std::vector<double> entropies_of_clamped(const GramSpectrum& gram,
                                         const std::vector<double>& orders) {
  std::vector<double> positive;
  for (const double value : gram.eigenvalues) {
    if (value > 0.0) positive.push_back(value);
  }
  double sum = 0.0;
  for (const double value : positive) sum += value;
  const auto size = static_cast<double>(std::min(gram.num_tokens, gram.dim));
  std::vector<double> entropies;
  for (const double alpha : orders) {
    entropies.push_back(alpha == 2.0 ? -std::log(gram.squared_norm / (size * size))
                                     : entropy_of_spectrum(positive, sum, alpha));
  }
  return entropies;
}

}  // namespace

bool needs_eigenvalues(std::span<const double> orders) {
  return std::any_of(orders.begin(), orders.end(), [](double alpha) { return alpha != 2.0; });
}

std::vector<double> entropies_of(const GramSpectrum& gram, const EntropyOptions& options) {
  const std::vector<double> orders = options.orders();
  if (options.preset == EntropyPreset::kLayerByLayer) return entropies_of_clamped(gram, orders);
  std::vector<double> entropies;
  for (const double alpha : orders) {
    entropies.push_back(gram.eigenvalues.empty()
                            ? 2.0 * std::log(gram.trace) - std::log(gram.squared_norm)
                            : entropy_of_spectrum(gram.eigenvalues, gram.trace, alpha));
  }
  return entropies;
}

}  // namespace lime
