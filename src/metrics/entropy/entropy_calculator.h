// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/matrix.h"
#include "core/running_statistics.h"
#include "metrics/entropy/matrix_entropy.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"

namespace lime {

/// Mean and divisor of each dimension.
struct Standardization {
  VectorD mean;     ///< [dim]
  VectorD divisor;  ///< [dim], > 0
};

inline constexpr double kStandardizationEpsilon = 1e-5;

/// Computes the preprocessing of the LIMe analysis from the statistics of a dataset:
///
///   z = (x - mean) / (sqrt(m2 / (count - 1)) + epsilon)
///
/// @throws InvalidArgument  if count < 2, sizes differ, or a value is invalid.
/// Source: corl-team/lime, src/analysis/entropy.py (torch's unbiased std over all tokens).
Standardization make_standardization(const RunningStatistics& statistics,
                                     double epsilon = kStandardizationEpsilon);

/// Standardises every dimension: z = (x - mean) / divisor, [num_rows, dim], in double.
/// @throws InvalidArgument  if the dimensions differ.
MatrixD standardize(const ConstMatrixRef& rows, const Standardization& standardization);

/// Applies a preset's preprocessing to the rows of a sequence before their Gram matrix is computed.
/// Reuses its memory: one object per thread.
class EntropyPreprocessing {
 public:
  /// @param standardization  needed by the preset lime-code, ignored by the others.
  /// @throws InvalidArgument  if it is missing.
  EntropyPreprocessing(EntropyPreset preset, const std::optional<Standardization>& standardization);

  /// Sets shift and scales of `rows`, which had none; they are valid until the next call.
  /// @throws InvalidArgument  if the rows are empty or have other dimensions, or if a token equals
  ///         the mean token and the preset divides by their distance.
  template <typename Scalar> void apply(linalg::AffineRows<Scalar>& rows);

 private:
  template <typename Scalar> void centre_and_normalize(linalg::AffineRows<Scalar>& rows);

  EntropyPreset preset_;
  VectorD shift_;         ///< [dim]
  VectorD column_scale_;  ///< [dim]
  VectorD row_scale_;     ///< [num_tokens]
};

/// Returns one row for a sequence, [dim]: the mean or the last of its tokens, which layer-by-layer
/// preprocesses first; other presets apply to the matrix of these rows.
/// @throws InvalidArgument  as EntropyPreprocessing::apply().
Eigen::RowVectorXf pooled_token(const MatrixF& tokens, bool last, EntropyPreset preset);

/// @throws InvalidArgument  naming the first value that is not finite.
template <typename Scalar> void check_finite(const linalg::AffineRows<Scalar>& rows);

/// @param rows   if their `x` is null, the values are known to be finite.
/// @param trace  of the Gram matrix of `rows`.
/// @throws InvalidArgument  if it is 0, or not finite because a value is not; names that.
/// @throws NumericalError   if it is not finite for another reason.
template <typename Scalar> void check_trace(const linalg::AffineRows<Scalar>& rows, double trace);

/// The entropies of one sequence in the preset's unit, one per order.
struct SequenceEntropy {
  std::vector<double> values;  ///< with top_k the middle of the bounds
  std::vector<double> lower;   ///< with top_k only
  std::vector<double> upper;   ///< with top_k only
  double left_out = 0.0;       ///< with top_k: fraction of the trace in the other eigenvalues
};

/// A sequence with a reduced Gram matrix, whose entropies still need eigenvalues.
struct PendingEntropy {
  std::int64_t num_tokens = 0;
  std::int64_t dim = 0;
  double trace = 0.0;
  double squared_norm = 0.0;        ///< of the clamped Gram matrix, layer-by-layer only
  linalg::Tridiagonal tridiagonal;  ///< empty if no eigenvalues are needed
  SequenceEntropy entropy;          ///< in nats, complete if none are needed
};

/// Computes the entropies of sequences on the calling thread, in reused memory: one object per
/// thread.
class EntropyCalculator {
 public:
  /// @throws InvalidArgument  if the options are invalid or the standardization is missing.
  EntropyCalculator(const EntropyOptions& options,
                    const std::optional<Standardization>& standardization);

  /// @param rows  representations, [num_tokens, dim], without shift or scale.
  /// @throws InvalidArgument  if they are empty, all zero after preprocessing, or not finite.
  template <typename Scalar> SequenceEntropy compute(linalg::AffineRows<Scalar> rows);

  /// Splits compute() into two parts: everything but the eigenvalues of a tridiagonal matrix, and
  /// these, which take little longer for linalg::kLanes sequences than for one. Grouping does not
  /// change results.
  /// @throws as compute(); NumericalError  if eigenvalues do not converge.
  template <typename Scalar> PendingEntropy begin(linalg::AffineRows<Scalar> rows);
  std::vector<SequenceEntropy> finish(std::span<PendingEntropy> pending);

 private:
  template <typename Scalar>
  SequenceEntropy compute_leading(const linalg::AffineRows<Scalar>& rows);
  void begin_all(PendingEntropy& pending);
  std::vector<double> entropies_without_eigenvalues(double trace);
  std::vector<double> entropies_of(const PendingEntropy& pending) const;
  void to_preset_unit(PendingEntropy& pending) const;

  EntropyOptions options_;
  std::vector<double> orders_;
  EntropyPreprocessing preprocessing_;
  MatrixD representations_;  ///< with top_k only
  linalg::GramBuilder gram_builder_;
  linalg::SymmetricPanels gram_;
  linalg::SymmetricPanels squared_gram_;
  linalg::SymmetricEigenvalues eigenvalues_;
  linalg::TridiagonalEigenvalues tridiagonal_eigenvalues_;
};

}  // namespace lime
