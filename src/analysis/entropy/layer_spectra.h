// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"
#include "store/capture_reader.h"

namespace lime {

/// A sequence at an end of a layer's entropies, and its spectrum.
struct SequenceSpectrum {
  std::int64_t sequence = 0;
  double entropy = 0.0;          ///< nats
  double ceiling = 0.0;          ///< ln min(tokens, dim)
  std::string text;              ///< where the input was token ids: the ids
  std::vector<double> spectrum;  ///< as LayerSpectra::spectrum, of this sequence
};

/// The spectrum of a layer, and those of its extreme sequences.
struct LayerSpectra {
  /// Eigenvalues of the covariance of all rows, standardised as the preset lime-code does, over
  /// their sum; descending, those above 0 but for rounding.
  std::vector<double> spectrum;
  std::vector<SequenceSpectrum> lowest;   ///< the lowest fraction of the maximum first
  std::vector<SequenceSpectrum> highest;  ///< the highest first; none that is among the lowest
};

/// Returns the entropy of each sequence in one layer; empty if the layer was not measured.
/// @param entropies  of prepare_entropy() with a single order, of one capture
std::vector<double> entropies_of_layer(const AnalysisResult& entropies, const std::string& site,
                                       int layer);

/// Computes the spectra of one layer over the first sequences, as many as there are entropies.
/// @param entropies  of entropies_of_layer()
/// @param extremes   number of sequences at each end, >= 1
/// Reads the rows once, sequence by sequence; rows * dim^2 multiply-adds for the covariance.
/// @throws InvalidArgument  if the capture does not contain whole sequences. @throws Interrupted
LayerSpectra layer_spectra(const CaptureReader& capture, const std::string& site, int layer,
                           std::span<const double> entropies, std::int64_t extremes = 8,
                           const ProgressFn& on_progress = {}, const std::stop_token& stop = {});

}  // namespace lime
