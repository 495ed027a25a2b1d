// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/matrix.h"

namespace lime {

/// Accumulates unit vectors to compute the mean cosine over all pairs in linear time.
///
///   mean_{i != j} cos(x_i, x_j) = (|sum_i u_i|^2 - n) / (n (n - 1)),   u_i = x_i / |x_i|
///
/// In double; the result depends only on the order of the calls. Not thread-safe.
struct DirectionSum {
  VectorD sum;             ///< [dim], of the unit vectors; empty before the first row
  std::int64_t count = 0;  ///< unit vectors in the sum
  std::int64_t zeros = 0;  ///< zero rows, which have no direction and are excluded

  /// Adds the directions of `rows`, [num_rows, dim], after subtracting `centre` (if given).
  void add(const ConstMatrixRef& rows, const VectorD* centre = nullptr);
  void merge(const DirectionSum& other);
  /// Returns the mean cosine over all pairs of distinct rows, in [-1 / (n - 1), 1]; unset if fewer
  /// than two rows have a direction. Source: Ethayarajh (2019), section 4.1.
  std::optional<double> mean_cosine() const;
};

struct SequenceSimilarity {
  /// Mean cosine of each token with the mean token; unset if the mean or all tokens are zero.
  /// Ethayarajh (2019), section 4.1, "intra-sentence similarity".
  std::optional<double> mean_token_similarity;
  /// |X - 1 m^T|_F / |X|_F with the mean token m, in [0, 1]: 0 if all tokens are equal. The mean
  /// minimises |X - 1 x^T|_F over x. Unset if X is zero.
  std::optional<double> rank_one_residual;
  /// The same in the norm sqrt(|.|_1 |.|_inf) of Dong, Cordonnier & Loukas (2021), eq. 3.
  std::optional<double> rank_one_residual_1inf;
  /// Mean cosine over all pairs of distinct tokens; unset if fewer than two are not zero.
  std::optional<double> mean_cosine;
  DirectionSum directions;  ///< of the tokens, to be merged with those of other sequences
};

/// Computes the similarity measures of one sequence in double, in time O(n d).
/// @param rows  [num_tokens >= 2, dim], finite. @throws InvalidArgument
SequenceSimilarity sequence_similarity(const ConstMatrixRef& rows);

struct MassiveActivationOptions {
  /// Smallest magnitude, >= 0.
  double threshold = 100.0;
  /// Smallest ratio to the median magnitude of the sequence, >= 1.
  double ratio = 1000.0;

  void validate() const;
};

struct MassiveActivations {
  double share = 0.0;            ///< fraction of massive elements, in [0, 1]
  double token_share = 0.0;      ///< fraction of tokens with at least one, in [0, 1]
  double largest = 0.0;          ///< largest magnitude
  double median = 0.0;           ///< median magnitude; for an even count the lower middle one
  double largest_ratio = 0.0;    ///< largest / median; infinite if the median is 0
  std::int64_t num_massive = 0;  ///< elements
};

/// Counts massive activations: |x| > threshold and |x| >= ratio times the median of the sequence.
///
/// @param rows  [num_tokens, dim], finite.
/// @throws InvalidArgument  if there are no rows, or the options are invalid.
/// Time O(n d): the median comes from a histogram of the exponents and leading digits. Source: Sun,
/// Chen, Kolter & Liu (2024), section 2 ; torch.median as in their code.
MassiveActivations massive_activations(const ConstMatrixRef& rows,
                                       const MassiveActivationOptions& options = {});

/// Returns the element of rank (count - 1) / 2 among the magnitudes of `rows`, counted from 0.
float median_magnitude(const ConstMatrixRef& rows);

struct PathCurvature {
  /// Mean angle between consecutive steps of non-zero length, in degrees; unset if there are none.
  std::optional<double> degrees;
  std::int64_t angles = 0;       ///< number of angles in the mean
  std::int64_t still_steps = 0;  ///< steps between equal tokens, which have no direction
};

/// Measures the curvature of the path of the tokens of one sequence.
///
///   v_t = x_{t+1} - x_t,   c_t = arccos(<v_t, v_{t+1}> / (|v_t| |v_{t+1}|))
///
/// 0 is a straight line; random directions give 90, independent points 120.
///
/// @param rows  representations in text order, [num_tokens, dim].
/// @throws InvalidArgument  if there are fewer than 3 tokens.
/// Source: Henaff, Goris & Simoncelli (2019), eq. 1, 2; Hosseini & Fedorenko (2023).
PathCurvature path_curvature(const ConstMatrixRef& rows);

/// Compares the first token of a sequence with the others: in many trained models it has a massive
/// norm, and then it alone decides entropies and ranks of the sequence.
struct FirstToken {
  /// |x_0| over the median norm of all tokens, the lower middle one; unset if that is 0.
  std::optional<double> norm_ratio;
  /// sigma_1^2 / sum sigma_k^2 of the rows, in (0, 1]; near 1 they are collinear.
  std::optional<double> top_share;
  /// `top_share` of the rows after the first.
  std::optional<double> top_share_rest;
};

/// @param rows  [num_tokens >= 2, dim], finite. @throws InvalidArgument
/// Source: Queipo-de-Llano et al. (2025), arXiv:2510.06477.
FirstToken measure_first_token(const ConstMatrixRef& rows);

/// Computes the largest eigenvalue of X^T X by Lanczos iterations without forming the matrix.
///
/// Iterates until the residual of the eigenpair is below 1e-6 relative; the eigenvalue's error is
/// of the order of its square over the gap. Time 4 rows dim per iteration, of which there are 5
/// to 50.
/// @param rows  X, [num_rows >= 1, dim], finite.
double largest_gram_eigenvalue(const ConstMatrixRef& rows);

/// Measures of each token of a sequence that use only its row and the next one.
struct TokenProfile {
  VectorD norm;           ///< [num_tokens], |x_t|
  VectorD relative_norm;  ///< [num_tokens], |x_t| over the median of the sequence; 0 if that is 0
  VectorD next_cosine;    ///< [num_tokens - 1], cosine of x_t and x_{t+1}; 0 if either is 0
};

/// Measures the tokens of one sequence. An even number has the lower middle one as median.
///
/// Relative norms far above 1 indicate massive activations, cosines near 1 oversmoothing.
/// @param rows  in text order, [num_tokens, dim], num_tokens >= 1.
/// @throws InvalidArgument  if there is no token or a value is not finite.
TokenProfile token_profile(const ConstMatrixRef& rows);

}  // namespace lime
