// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "core/matrix.h"
#include "core/program/progress.h"
#include "core/running_statistics.h"
#include "core/threads/thread_pool.h"
#include "metrics/geometry/first_token.h"
#include "metrics/geometry/massive_activations.h"
#include "metrics/geometry/path_curvature.h"
#include "metrics/geometry/sequence_similarity.h"
#include "metrics/geometry/spectrum.h"
#include "metrics/rows.h"

namespace lime {

/// Selects the measures of a layer's geometry, with their options.
struct LayerGeometryOptions {
  bool spectrum_of_rows = true;        ///< of all rows together
  bool spectrum_of_sequences = false;  ///< of each sequence
  bool similarity = true;              ///< cosines and rank-one residuals
  bool curvature = true;
  bool massive = true;
  bool first_token = false;
  Centering centering = Centering::kAsDefined;
  SpectrumOptions spectrum_options;
  MassiveActivationOptions massive_options;
  /// Rows to return, counted over all sequences, ascending.
  std::vector<std::int64_t> sample;

  void validate() const;
};

/// Results of one sequence; parts that were not requested are unset.
struct SequenceGeometry {
  std::int64_t num_tokens = 0;
  MeasuredSpectrum spectrum;
  /// Similarity without the direction sums, which are merged into LayerGeometry.
  SequenceSimilarity similarity;
  PathCurvature curvature;
  MassiveActivations massive;
  FirstToken first_token;
};

struct LayerGeometry {
  std::int64_t num_rows = 0;
  std::int64_t dim = 0;
  std::vector<SequenceGeometry> sequences;
  MeasuredSpectrum spectrum;        ///< of all rows
  DirectionSum directions;          ///< of all rows
  DirectionSum centred_directions;  ///< of all rows minus `centre`
  MatrixF sample;                   ///< [sample.size(), dim]
};

/// Measures the geometry of one layer in one pass over its sequences.
///
/// @param sequences    read on the pool's threads; each has >= 2 tokens and the same dim.
/// @param offsets      first row of each sequence and, last, the number of rows, [count + 1].
/// @param centre       mean of all rows, [dim]: for centring, and the shift of the moments.
/// @throws InvalidArgument  if a sequence has one token, or a value is not finite (names it).
/// @throws Interrupted
///
/// Sums groups of sequences, whose number depends only on the data: bit-identical for any number of
/// threads. Memory: per group a matrix of dim^2 / 2 doubles, per thread a sequence.
LayerGeometry layer_geometry(const SequenceSource& sequences,
                             const std::vector<std::int64_t>& offsets, const VectorD& centre,
                             const LayerGeometryOptions& options, ThreadPool& pool,
                             const ProgressFn& on_progress = {}, const std::stop_token& stop = {});

/// Returns the number of those groups.
std::int64_t num_moment_groups(std::int64_t num_sequences, std::int64_t dim);

/// Returns the bytes of additional scratch memory per thread.
std::int64_t moment_scratch_bytes(std::int64_t longest_sequence, std::int64_t dim);

/// Computes mean and squared deviations of all rows. Memory: 16 dim bytes per sequence.
RunningStatistics statistics_of_rows(const SequenceSource& sequences, ThreadPool& pool,
                                     const std::stop_token& stop = {});
/// Computes the mean of all rows, [dim], without products that a compiler may fuse.
VectorD mean_of_rows(const SequenceSource& sequences, ThreadPool& pool,
                     const std::stop_token& stop = {});

}  // namespace lime
