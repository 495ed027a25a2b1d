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

}  // namespace lime
