// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/options.h"
#include "core/program/progress.h"
#include "metrics/collapse/resampled_sums.h"
#include "metrics/rows.h"
#include "metrics/summary.h"

// What makes the representations of a layer look collapsed: each cause is measured alone, and again
// on what the others leave. docs/collapse.md has definitions, thresholds and sources.

namespace lime {

struct CollapseOptions {
  /// A token is massive from this multiple of the median norm of the layer on, > 1.
  double massive_ratio = 4.0;
  /// A dimension is an outlier from this multiple of the median root mean square on, > 1.
  double dimension_ratio = 4.0;
  /// A cause is present above this fraction of the trace, or of the variance, in (0, 1).
  double share = 0.5;
  /// Dimensional collapse: effective rank below this fraction of its maximum, in (0, 1).
  double rank_share = 0.1;
  SummaryOptions summary = {.resamples = 1000};

  /// Adds the groups "Causes" and "Interval".
  void describe(OptionList& list);
  void validate() const;
};

/// Returns the maximum number of outlier dimensions of `dim`: 5, or 1 percent if that is more, but
/// no more than an eighth of the dimensions. 5 as in Timkey & van Schijndel (2021), table 1.
std::int64_t most_outlier_dimensions(std::int64_t dim);

/// A token whose norm, or distance from the mean, is far above the median.
struct MassiveToken {
  std::int64_t row = 0;
  double ratio = 0.0;  ///< norm over the median norm
  int dimension = 0;   ///< of the largest magnitude
  double value = 0.0;  ///< in that dimension
};

/// What the tokens alone would give: rows that are random vectors, one per token id.
struct TokenControl {
  double intraclass = 0.0;      ///< as LayerCauses::intraclass
  double effective_rank = 0.0;  ///< as LayerCauses::effective_rank
};

/// Measurements of a layer. "Trace" is the sum of the squared norms of rows; "rest" are the rows
/// without massive tokens and outlier dimensions, whose mean is subtracted.
struct LayerCauses {
  std::int64_t rows = 0;
  std::int64_t sequences = 0;
  std::int64_t dim = 0;

  std::vector<MassiveToken> massive;  ///< by row
  double largest_ratio = 0.0;         ///< largest norm over the median norm
  Estimate massive_share;             ///< of the trace
  Estimate massive_share_centred;     ///< of the trace after subtracting the mean of the others
  /// The larger of both shares without outlier dimensions.
  Estimate massive_share_rest;
  /// Participation ratio without massive tokens over that with them; the larger of both with and
  /// without outlier dimensions.
  Estimate participation_gain;

  std::vector<int> dimensions;       ///< outlier dimensions, the largest share first
  double dimension_tokens = 0.0;     ///< fraction of the other tokens with more than half in them
  Estimate dimension_share;          ///< of the trace without massive tokens
  Estimate dimension_share_centred;  ///< the same of the variance

  /// |mean|^2 / mean |x|^2 without massive tokens and outlier dimensions.
  Estimate common_share;
  /// Fraction of the variance of the rest that is between sequences: 1 if tokens of a sequence are
  /// equal, 0 if they are as different as tokens of different sequences. NaN for one sequence.
  Estimate intraclass;
  /// |X - 1 m^T|_F / |X|_F of a sequence, m its mean token, mean over sequences.
  Estimate rank_one_residual;
  Estimate rank_one_residual_rest;

  /// exp(-sum p ln p) of the eigenvalues of the covariance within sequences of the rest.
  Estimate effective_rank;
  double rank_ceiling = 0.0;   ///< largest possible effective rank for these rows
  double participation = 0.0;  ///< participation ratio of the covariance of all rows
  double participation_without_tokens = 0.0;
  double participation_without_dimensions = 0.0;
  double participation_rest = 0.0;

  Estimate entropy;                 ///< of order 1/2 of a sequence, in nats, mean over sequences
  Estimate entropy_without_tokens;  ///< without massive tokens

  /// Only if tokens of a sequence are similar, or the effective rank is low.
  std::optional<TokenControl> control;
};

/// Rows of a layer, sequence by sequence.
struct LayerRows {
  SequenceSource sequences;
  std::vector<std::int64_t> offsets;     ///< first row of each sequence, then the number of rows
  std::span<const std::int32_t> tokens;  ///< id of each row; empty: unknown
};

/// Measures the causes of a collapse in one layer.
///
/// @param rows  at least two of them, finite, not all zero.
/// @throws InvalidArgument, Interrupted
/// Reads the rows once if they fit into kKeptBytes, else seven times. Time rows dim^2 / 2 + 10
/// dim^3 / 3, and for the entropies tokens^2 dim per sequence. Bit-identical for any number of
/// threads.
LayerCauses measure_causes(const LayerRows& rows, const CollapseOptions& options, ThreadPool& pool,
                           const ProgressFn& on_progress = {}, const std::stop_token& stop = {});

/// Rows of a layer that are kept in memory; larger layers are read again.
inline constexpr std::int64_t kKeptBytes = std::int64_t{192} << 20;

/// Returns the memory of measure_causes() in bytes.
std::int64_t causes_bytes(std::int64_t rows, std::int64_t longest, std::int64_t sequences,
                          std::int64_t dim);

/// Computes what the tokens alone give with random embeddings of `dim` dimensions.
TokenControl token_control(std::span<const std::int32_t> tokens,
                           std::span<const std::int64_t> offsets, std::int64_t dim,
                           std::uint64_t seed);

}  // namespace lime
