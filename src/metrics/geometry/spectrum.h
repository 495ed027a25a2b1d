// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/matrix.h"
#include "core/options.h"
#include "metrics/geometry/power_law.h"
#include "metrics/geometry/row_moments.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"
#include "metrics/linalg/symmetric_panels.h"

namespace lime {

struct SpectrumOptions {
  /// Added to every p_k in RankMe, >= 0. The paper's code uses 1e-7, "suitable for float32".
  double rankme_epsilon = 1e-7;
  /// Tolerance of the numerical rank relative to the largest singular value, in [1e-7, 1); unset:
  /// max(rows, dim) times the epsilon of float32, as in numpy.linalg.matrix_rank.
  std::optional<double> rank_tolerance;
  /// Range of the power law to fit to the covariance; unset: none.
  std::optional<PowerLawRange> power_law = std::nullopt;

  void validate() const;
};

/// Four rank measures of a matrix, at most min(rows, dim), RankMe up to its epsilon.
struct SpectrumMeasures {
  double effective_rank = 0.0;
  double rankme = 0.0;
  double stable_rank = 0.0;
  double numerical_rank = 0.0;
};

/// Computes rank measures of a matrix A from the eigenvalues of its smaller Gram matrix.
///
///   sigma_k = sqrt(max(lambda_k, 0)),   q_k = sigma_k / sum_j sigma_j
///   effective rank       exp(-sum q_k ln q_k)                    Roy & Vetterli (2007), eq. 3
///   RankMe               exp(-sum p_k ln p_k), p_k = q_k + eps   Garrido et al. (2023), eq. 2, 3
///   stable rank          sum sigma_k^2 / max sigma_k^2           Rudelson & Vershynin (2007)
///   numerical rank       number of sigma_k > tolerance max sigma_k
///
/// @param eigenvalues  of A A^T or A^T A, [>= min(rows, dim)] in any order; if negative, 0.
/// @param rows, dim    shape of A: RankMe sums over min(rows, dim) values.
/// @throws InvalidArgument  if there are none, one is not finite, or none is above 0.
SpectrumMeasures measure_spectrum(std::span<const double> eigenvalues, std::int64_t rows,
                                  std::int64_t dim, const SpectrumOptions& options = {});

/// Computes the participation ratio (sum lambda_k)^2 / sum lambda_k^2 from the trace of a Gram
/// matrix and its squared Frobenius norm, without eigenvalues. Source: Gao et al. (2017).
/// @throws InvalidArgument  if the matrix is zero or not finite.
double participation_ratio(double trace, double squared_norm);

/// Whether the mean is subtracted before computing the spectrum.
enum class Centering {
  kAsDefined,  ///< only for the participation ratio, which is defined on the covariance
  kAlways,
  kNever,
};

constexpr auto names_of(Centering) {
  using enum Centering;
  return enum_table<Centering>(
      {{kAsDefined, "as-defined"}, {kAlways, "always"}, {kNever, "never"}});
}

struct MeasuredSpectrum {
  std::optional<SpectrumMeasures> ranks;      ///< unset if the matrix is zero
  std::optional<double> participation_ratio;  ///< likewise
  std::optional<PowerLaw> power_law;          ///< likewise, and if not requested
};

/// Properties of a Gram matrix that determine its rank measures.
struct GramSummary {
  double trace = 0.0;
  double squared_norm = 0.0;            ///< squared Frobenius norm
  std::span<const double> eigenvalues;  ///< in any order; empty if they are not used
};

/// Returns true if the ranks are those of the centred matrix, whose eigenvalues are then needed.
constexpr bool uses_centred_ranks(Centering centering) { return centering == Centering::kAlways; }

/// Measures a matrix of rows by its raw and its centred Gram matrix, without the power law. The
/// eigenvalues of one of them are used, see uses_centred_ranks().
/// @param rows, dim  shape of the matrix
MeasuredSpectrum measure_grams(const GramSummary& raw, const GramSummary& centred,
                               std::int64_t rows, std::int64_t dim, Centering centering,
                               const SpectrumOptions& options);

/// Measures the spectra of matrices of rows one by one in reused memory; one object per thread.
///
/// If the centred part is below 1e-14 of the squared norm, all rows count as equal.
class SpectrumMeter {
 public:
  SpectrumMeter(Centering centering, const SpectrumOptions& options)
      : centering_(centering), options_(options) {}

  /// Measures moments, for any number of rows. Time dim^3.
  MeasuredSpectrum measure(const RowMoments& moments);
  /// Measures rows, [num_rows, dim], with the smaller Gram matrix.
  MeasuredSpectrum measure(const ConstMatrixRef& rows);

 private:
  MeasuredSpectrum measure_grams(linalg::SymmetricPanels& raw, linalg::SymmetricPanels& centred,
                                 std::int64_t rows, std::int64_t dim);

  Centering centering_;
  SpectrumOptions options_;
  linalg::GramBuilder builder_;
  linalg::SymmetricPanels raw_;
  linalg::SymmetricPanels centred_;
  linalg::SymmetricEigenvalues solver_;
};

}  // namespace lime
