// SPDX-License-Identifier: Apache-2.0
#include "metrics/router/spectrum_calculator.h"

#include <algorithm>
#include <cmath>

namespace lime {
namespace {

using Eigen::Index;

void standardize_features(MatrixD& features, const Standardization& standardization) {
  throw_if(standardization.mean.size() != features.rows(),
           "spectrum: expected {} means, one per feature, got {}", features.rows(),
           standardization.mean.size());
  for (Index f = 0; f < features.rows(); ++f) {
    features.row(f).array() -= standardization.mean(f);
    features.row(f) *= 1.0 / standardization.divisor(f);
  }
}

[[noreturn]] void refuse_not_finite(const MatrixD& features) {
  for (Index token = 0; token < features.cols(); ++token) {
    for (Index f = 0; f < features.rows(); ++f) {
      if (std::isfinite(features(f, token))) continue;
      throw InvalidArgument(
          "spectrum: values must be finite, got {} at token {}; check the model for overflow, or "
          "capture in a wider type",
          features(f, token), token);
    }
  }
  throw InvalidArgument("spectrum: values are too large to square");
}

double effective_rank(std::span<const double> eigenvalues) {
  std::vector<double> singular_values;
  double sum = 0.0;
  for (const double value : eigenvalues) {
    singular_values.push_back(std::sqrt(std::max(value, 0.0)));
    sum += singular_values.back();
  }
  return std::exp(entropy_of_spectrum(singular_values, sum, 1.0));
}

}  // namespace

std::optional<SpectrumSummary> SpectrumCalculator::compute(
    MatrixD& features, const std::optional<Standardization>& standardization,
    std::span<const double> orders) {
  if (standardization) standardize_features(features, *standardization);
  gram_builder_.smaller_gram(linalg::affine_rows(features), gram_);
  const double total = linalg::trace(gram_);
  if (!std::isfinite(total)) refuse_not_finite(features);
  if (!(total > 0.0)) return std::nullopt;
  const std::span<const double> spectrum = eigenvalues_.compute(gram_);
  SpectrumSummary summary;
  for (const double alpha : orders) {
    summary.entropies.push_back(entropy_of_spectrum(spectrum, total, alpha));
  }
  summary.effective_rank = effective_rank(spectrum);
  return summary;
}

}  // namespace lime
