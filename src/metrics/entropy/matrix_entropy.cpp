// SPDX-License-Identifier: Apache-2.0
#include "metrics/entropy/matrix_entropy.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "metrics/entropy/entropy_calculator.h"

namespace lime {
namespace {

/// Orders this close to 1 use the formula without cancellation; the LIMe code's 0.99 does not.
constexpr double kNearOne = 1e-3;

double largest_of(std::span<const double> eigenvalues) {
  double largest = 0.0;
  for (const double value : eigenvalues) {
    if (!std::isfinite(value)) {
      throw InvalidArgument("entropy: eigenvalues must be finite, got {}", value);
    }
    largest = std::max(largest, value);
  }
  if (largest == 0.0) throw InvalidArgument("entropy: no eigenvalue is above 0");
  return largest;
}

/// Returns -sum p log p.
double shannon_entropy(std::span<const double> eigenvalues, double trace) {
  double entropy = 0.0;
  for (const double value : eigenvalues) {
    const double p = value / trace;
    if (p > 0.0) entropy -= p * std::log(p);
  }
  return entropy;
}

/// Returns log(sum p^alpha) / (1 - alpha) with sum p^alpha = sum p + sum p (p^(alpha - 1) - 1). The
/// sum of the p is replaced by 1, since 1 / (1 - alpha) would amplify its rounding error.
double entropy_near_one(std::span<const double> eigenvalues, double trace, double alpha) {
  double excess = 0.0;
  for (const double value : eigenvalues) {
    const double p = value / trace;
    if (p > 0.0) excess += p * std::expm1((alpha - 1.0) * std::log(p));
  }
  return std::log1p(excess) / (1.0 - alpha);
}

/// Computes the general formula, relative to the largest p, so that no power overflows or
/// underflows.
double general_entropy(std::span<const double> eigenvalues, double trace, double alpha,
                       double largest) {
  double sum = 0.0;
  for (const double value : eigenvalues) {
    if (value > 0.0) sum += std::pow(value / largest, alpha);
  }
  return (alpha * std::log(largest / trace) + std::log(sum)) / (1.0 - alpha);
}

template <typename Scalar>
double entropy_of(const linalg::AffineRows<Scalar>& rows, double alpha) {
  EntropyOptions options;
  options.preset = EntropyPreset::kRaw;
  options.alpha = {alpha};
  EntropyCalculator calculator(options, std::nullopt);
  try {
    return calculator.compute(rows).values.front();
  } catch (const InvalidArgument& error) {
    throw InvalidArgument("entropy: {}", error.what());
  } catch (const NumericalError& error) {
    throw NumericalError("entropy: {}", error.what());
  }
}

}  // namespace

void check_entropy_order(double alpha) {
  if (!(alpha > 0.0)) {
    throw InvalidArgument("alpha: must be > 0 (1 and inf are allowed), got {}", alpha);
  }
}

double entropy_ceiling(std::int64_t num_tokens, std::int64_t dim) {
  if (num_tokens < 1 || dim < 1) {
    throw InvalidArgument("entropy: needs at least one token and one dimension, got {} x {}",
                          num_tokens, dim);
  }
  return std::log(static_cast<double>(std::min(num_tokens, dim)));
}

double entropy_of_spectrum(std::span<const double> eigenvalues, double trace, double alpha) {
  check_entropy_order(alpha);
  if (!(trace > 0.0) || !std::isfinite(trace)) {
    throw InvalidArgument("entropy: the trace must be > 0 and finite, got {}", trace);
  }
  const double largest = largest_of(eigenvalues);
  if (std::isinf(alpha)) return -std::log(largest / trace);
  if (alpha == 1.0) return shannon_entropy(eigenvalues, trace);
  if (std::abs(alpha - 1.0) < kNearOne) return entropy_near_one(eigenvalues, trace, alpha);
  return general_entropy(eigenvalues, trace, alpha, largest);
}

double matrix_renyi_entropy(const ConstMatrixRef& representations, double alpha) {
  return entropy_of<float>({.x = representations.data(),
                            .num_rows = representations.rows(),
                            .num_cols = representations.cols(),
                            .row_stride = representations.outerStride()},
                           alpha);
}

double matrix_renyi_entropy(const ConstMatrixRefD& representations, double alpha) {
  return entropy_of<double>({.x = representations.data(),
                             .num_rows = representations.rows(),
                             .num_cols = representations.cols(),
                             .row_stride = representations.outerStride()},
                            alpha);
}

}  // namespace lime
