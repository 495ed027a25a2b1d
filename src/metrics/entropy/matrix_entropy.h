// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/matrix.h"
#include "core/options.h"
#include "metrics/entropy/entropy_preset.h"

namespace lime {

/// Divisor of the entropy in the preset layer-by-layer; N tokens, D dimensions.
enum class EntropyNormalization {
  kMaxEntropy,  ///< min(ln N, ln D)
  kLogN,
  kLogD,
  kLogNLogD,  ///< ln N * ln D
  kRaw,       ///< 1
};

constexpr auto names_of(EntropyNormalization) {
  using enum EntropyNormalization;
  return enum_table<EntropyNormalization>({{kMaxEntropy, "maxEntropy"},
                                           {kLogN, "logN"},
                                           {kLogD, "logD"},
                                           {kLogNLogD, "logNlogD"},
                                           {kRaw, "raw"}});
}

struct EntropyOptions {
  EntropyPreset preset = EntropyPreset::kLimeCode;
  /// Orders, each > 0, `inf` allowed; empty: the preset's default (0.5 or 1).
  std::vector<double> alpha = {};
  /// Only for the preset layer-by-layer; its default is maxEntropy.
  EntropyNormalization normalization = EntropyNormalization::kMaxEntropy;
  /// Number of leading eigenvalues to compute, > 0, with bounds of the entropy; unset: all
  /// eigenvalues. Not for layer-by-layer, whose clamped matrix has negative eigenvalues.
  std::optional<std::int64_t> top_k = std::nullopt;
  bool is_preprocessed = false;  ///< the rows are those of pooled_token(); not described

  void describe(OptionList& list);
  /// @throws InvalidArgument  naming the first field that is invalid.
  void validate() const;
  /// Returns `alpha`, or the preset's default order if it is empty.
  std::vector<double> orders() const;
};

/// Returns "nats"; "ratio" if the preset divides by a logarithm; "rank" for diff-erank.
std::string_view entropy_unit(const EntropyOptions& options);

/// Converts an entropy of a sequence of this shape from nats to the preset's unit.
/// @throws InvalidArgument  if the preset divides by the logarithm of 1.
double in_preset_unit(double nats, std::int64_t num_tokens, std::int64_t dim,
                      const EntropyOptions& options);
/// Returns the maximum for a sequence of this shape in the preset's unit. @throws likewise
double entropy_ceiling(std::int64_t num_tokens, std::int64_t dim, const EntropyOptions& options);

/// Computes the matrix-based Renyi entropy of the representations of one sequence.
///
///   K = Z Z^T / tr(Z Z^T),    S_alpha(Z) = log(sum_i lambda_i(K)^alpha) / (1 - alpha)
///
/// Near 0 all tokens are on one line (representation collapse); at the maximum the spectrum is
/// flat. alpha = 1 is the Shannon (von Neumann) limit, alpha = inf the min-entropy.
///
/// @param representations  Z, [num_tokens, dim]. Neither centred nor standardised here:
///                         see standardize() for the preprocessing of the LIMe analysis.
/// @param alpha            order, > 0; infinity is allowed.
/// @return entropy in nats, in [0, log(min(num_tokens, dim))] up to rounding.
/// @throws InvalidArgument  if Z is empty, all zero or not finite, or alpha is out of range.
///
/// Accumulates in double. Time O(n d min(n, d)): uses the smaller of Z Z^T and Z^T Z, and no
/// eigenvalues if alpha = 2. Thread-safe: no shared state.
/// Source: Sanchez Giraldo, Rao & Principe (2015), arXiv:1211.2459.
double matrix_renyi_entropy(const ConstMatrixRef& representations, double alpha);
double matrix_renyi_entropy(const ConstMatrixRefD& representations, double alpha);

/// Computes the Renyi entropy of a spectrum.
///
///   p_i = max(lambda_i, 0) / trace,    S_alpha = log(sum_i p_i^alpha) / (1 - alpha)
///
/// Eigenvalues that are negative due to rounding count as 0, but the given trace is unchanged, as
/// in the LIMe code; the p_i then sum to 1 up to rounding. Within 1e-3 of alpha = 1 the sum is
/// computed as 1 + sum p (p^(alpha - 1) - 1), which has no cancellation at the limit.
///
/// @param eigenvalues  in any order.
/// @param trace        divisor of the eigenvalues, > 0.
/// @param alpha        order, > 0; 1 is the Shannon limit, infinity gives -log(max p).
/// @return entropy in nats.
/// @throws InvalidArgument  if the spectrum is empty or not finite, or a parameter invalid.
double entropy_of_spectrum(std::span<const double> eigenvalues, double trace, double alpha);

/// Returns the maximum entropy of representations of this shape, for any order: log(min(num_tokens,
/// dim)), in nats. @throws InvalidArgument  if a size is below 1.
double entropy_ceiling(std::int64_t num_tokens, std::int64_t dim);

/// @throws InvalidArgument  unless alpha > 0; infinity is allowed, NaN is not.
void check_entropy_order(double alpha);

struct EntropyBounds {
  double lower = 0.0;  ///< nats
  double upper = 0.0;
};

/// Bounds the entropy of a spectrum from its leading eigenvalues.
///
/// With p_i = lambda_i / trace, the m = num_eigenvalues - k unknown ones are in [0, p_k] and sum to
/// r = 1 - (p_1 + ... + p_k). The Renyi entropy of every order is Schur-concave, so it is
///   largest  if they are equal, r / m each, and
///   smallest if they are as unequal as possible: as many as fit at p_k, one with the rest.
/// Both are attained, so the bounds are tight. They coincide for alpha = inf.
///
/// @param leading          the k largest eigenvalues, descending, not empty.
/// @param trace            sum of all eigenvalues, > 0.
/// @param num_eigenvalues  >= k.
/// @throws InvalidArgument  if a size or alpha is out of range, or `leading` is not descending and
///                          non-negative.
/// Source: Marshall, Olkin & Arnold (2011), Inequalities: Theory of Majorization, ch. 3.
EntropyBounds entropy_bounds(std::span<const double> leading, double trace,
                             std::int64_t num_eigenvalues, double alpha);

/// Properties of the smaller Gram matrix of one sequence's preprocessed rows that determine its
/// entropies, computed on any device. For layer-by-layer, of the clamped matrix.
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

/// Computes the `count` largest eigenvalues of Z Z^T by a restarted Lanczos method (Spectra).
///
/// A Lanczos method can mistake a multiple eigenvalue for a single one. So a second run, with the
/// found eigenvectors deflated, searches for a missing eigenvalue.
///
/// @param rows   Z, [num_rows, num_cols].
/// @param count  >= 1.
/// @return [count], descending; nothing if count is too close to min(num_rows, num_cols) for the
///         method, if it does not converge, or if the second run finds a missing one: then compute
///         all eigenvalues.
/// Time O(num_rows num_cols count) per restart; deterministic, single-threaded.
std::optional<std::vector<double>> leading_gram_eigenvalues(const MatrixD& rows,
                                                            std::int64_t count);

}  // namespace lime
