// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/matrix.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"

namespace lime {

struct SpectrumSummary {
  std::vector<double> entropies;  ///< nats, one per order
  double effective_rank = 0.0;    ///< 1 to min(tokens, dim)
};

/// Computes entropy and effective rank of one sequence from one spectrum.
///
///   S_alpha of K = Z Z^T as matrix_renyi_entropy(),
///   effective rank = exp(-sum_i p_i ln p_i),  p_i = sigma_i / sum sigma,  sigma_i^2 = lambda_i(K)
///
/// Keeps its scratch memory: one object per thread. Source: Roy & Vetterli (2007), definition 1.
class SpectrumCalculator {
 public:
  /// @param features         Z^T, [dim, num_tokens], feature-major; standardised in place.
  /// @param standardization  of its rows; none: unchanged.
  /// @param orders           of the entropies, each > 0.
  /// @return nothing if all of Z is zero.
  /// @throws InvalidArgument  if a value is not finite or the standardization has another size.
  std::optional<SpectrumSummary> compute(MatrixD& features,
                                         const std::optional<Standardization>& standardization,
                                         std::span<const double> orders);

 private:
  linalg::GramBuilder gram_builder_;
  linalg::SymmetricPanels gram_;
  linalg::SymmetricEigenvalues eigenvalues_;
};

}  // namespace lime
