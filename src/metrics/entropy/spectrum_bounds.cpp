// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/spectrum_bounds.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/errors.h"
#include "metrics/entropy/matrix_entropy.h"

namespace lime {
namespace {

void check_leading(std::span<const double> leading, std::int64_t num_eigenvalues) {
  if (leading.empty() || num_eigenvalues < static_cast<std::int64_t>(leading.size())) {
    throw InvalidArgument("entropy_bounds: needs 1 to {} leading eigenvalues, got {}",
                          num_eigenvalues, leading.size());
  }
  for (std::size_t i = 0; i < leading.size(); ++i) {
    if (!(leading[i] >= 0.0) || (i > 0 && leading[i] > leading[i - 1])) {
      throw InvalidArgument(
          "entropy_bounds: eigenvalues must be >= 0 and descending, got {} at index {}", leading[i],
          i);
    }
  }
}

}  // namespace

EntropyBounds entropy_bounds(std::span<const double> leading, double trace,
                             std::int64_t num_eigenvalues, double alpha) {
  check_leading(leading, num_eigenvalues);
  const std::size_t unknown = static_cast<std::size_t>(num_eigenvalues) - leading.size();
  double rest = trace;
  for (const double value : leading) rest -= value;
  rest = unknown == 0 ? 0.0 : std::max(rest, 0.0);

  std::vector<double> spectrum(leading.begin(), leading.end());
  spectrum.resize(static_cast<std::size_t>(num_eigenvalues),
                  unknown == 0 ? 0.0 : rest / static_cast<double>(unknown));
  const double upper = entropy_of_spectrum(spectrum, trace, alpha);

  double left = rest;
  for (std::size_t i = leading.size(); i < spectrum.size(); ++i) {
    spectrum[i] = std::min(left, leading.back());
    left -= spectrum[i];
  }
  return {std::min(entropy_of_spectrum(spectrum, trace, alpha), upper), upper};
}

}  // namespace lime
