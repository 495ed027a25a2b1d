// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/program/progress.h"
#include "core/threads/thread_pool.h"
#include "store/capture_reader.h"

namespace lime {

struct LayerExplorationOptions {
  /// Only the first sequences, > 0; 0: all.
  std::int64_t max_sequences = 0;
  /// Sequences that are shown at each end, >= 1.
  std::int64_t extremes = 8;

  /// @throws InvalidArgument
  void validate() const;
};

struct ExploredSequence {
  std::int64_t sequence = 0;
  double entropy = 0.0;          ///< nats
  double ceiling = 0.0;          ///< ln min(tokens, dim)
  std::string text;              ///< where the input was token ids: the ids
  std::vector<double> spectrum;  ///< as LayerExploration::spectrum, of this sequence
};

/// Details of one layer: its spectrum, and the sequences at the extremes.
struct LayerExploration {
  std::string site;
  int layer = 0;
  std::int64_t num_sequences = 0;
  std::int64_t num_rows = 0;
  double mean_entropy = 0.0;
  /// Eigenvalues of the covariance of all rows, standardised as the preset lime-code does, over
  /// their sum; descending, those above 0 but for rounding.
  std::vector<double> spectrum;
  std::vector<ExploredSequence> lowest;   ///< the lowest entropy first
  std::vector<ExploredSequence> highest;  ///< the highest entropy first
};

/// Explores one layer: entropies of order 0.5 of its sequences (preset lime-code) and spectra.
/// Reads the rows twice, sequence by sequence; rows * dim^2 multiply-adds for the covariance.
/// @throws InvalidArgument  if the capture does not hold whole sequences of tokens, or a sequence
///                          is too short. @throws Interrupted
LayerExploration explore_layer(const CaptureReader& capture, const std::string& site, int layer,
                               const LayerExplorationOptions& options, ThreadPool& pool,
                               const ProgressFn& on_progress = {},
                               const std::stop_token& stop = {});

}  // namespace lime
