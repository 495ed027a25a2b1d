// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "core/matrix.h"
#include "core/options.h"
#include "core/progress.h"
#include "core/thread_pool.h"
#include "metrics/geometry/directions.h"
#include "metrics/geometry/massive_activations.h"
#include "metrics/geometry/spectrum.h"
#include "metrics/geometry/token_path.h"
#include "metrics/sequence_source.h"

namespace lime {

/// Whether the mean is subtracted before the spectrum is measured.
enum class Centering {
  kAsDefined,  ///< for the participation ratio, which is that of the covariance, and no other
  kAlways,
  kNever,
};

template <>
struct EnumNames<Centering> {
  static constexpr std::array<std::pair<Centering, std::string_view>, 3> kNames = {
      {{Centering::kAsDefined, "as-defined"},
       {Centering::kAlways, "always"},
       {Centering::kNever, "never"}}};
};

/// Which parts of the geometry of a layer are computed, and how.
struct LayerGeometryOptions {
  bool spectrum_of_rows = true;        ///< of all rows together
  bool spectrum_of_sequences = false;  ///< of each sequence
  bool similarity = true;              ///< cosines and rank-one residuals
  bool curvature = true;
  bool massive = true;
  Centering centering = Centering::kAsDefined;
  SpectrumOptions spectrum_options;
  MassiveActivationOptions massive_options;
  /// Rows to be returned, counted over all sequences, ascending.
  std::vector<std::int64_t> sample;

  void validate() const;
};

/// The spectrum of one matrix of rows.
struct MeasuredSpectrum {
  std::optional<SpectrumMeasures> ranks;      ///< unset where the matrix measured is zero
  std::optional<double> participation_ratio;  ///< likewise
};

/// What one sequence says; parts that were not asked for are unset.
struct SequenceGeometry {
  std::int64_t num_tokens = 0;
  MeasuredSpectrum spectrum;
  /// Without the sums of directions, which are merged into LayerGeometry.
  SequenceSimilarity similarity;
  PathCurvature curvature;
  MassiveActivations massive;
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
/// @param centre       mean of all rows, [dim]: for cosines after centring, and as the shift about
///                     which moments are summed.
/// @throws InvalidArgument  if a sequence has one token, or a value is not finite: names the
///                          sequence, token and dimension.
/// @throws Interrupted
///
/// Sequences fall into a fixed number of groups, each summed in order by one thread and then merged
/// in order, so that the bits do not depend on the number of threads. Memory: per group a matrix of
/// dim^2 / 2 doubles (num_moment_groups()), per thread a sequence.
LayerGeometry layer_geometry(const SequenceSource& sequences,
                             const std::vector<std::int64_t>& offsets, const VectorD& centre,
                             const LayerGeometryOptions& options, ThreadPool& pool,
                             const ProgressFn& on_progress = {}, const std::stop_token& stop = {});

/// Groups into which sequences fall; depends on the data only.
std::int64_t num_moment_groups(std::int64_t num_sequences, std::int64_t dim);

/// Bytes that a thread needs beside that to sum moments.
std::int64_t moment_scratch_bytes(std::int64_t longest_sequence, std::int64_t dim);

/// Mean of all rows in one pass; [dim].
VectorD mean_of_rows(const SequenceSource& sequences, ThreadPool& pool,
                     const std::stop_token& stop = {});

}  // namespace lime
