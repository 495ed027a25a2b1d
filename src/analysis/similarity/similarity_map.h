// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/engine/analysis.h"
#include "analysis/engine/capture_set.h"
#include "analysis/similarity/similarity_analysis.h"

namespace lime {

/// State shared by the units of one analysis.
struct SimilarityTask {
  SimilarityAnalysisOptions options;
  std::vector<ChosenCapture> captures;
  std::vector<std::vector<std::int64_t>> rows;  ///< of each capture, those that are compared
  std::vector<std::string> identities;          ///< of their sequences
};

/// A map to compute: layers of a site of one capture against those of another, or of the same.
struct MapPlan {
  std::size_t first = 0;
  std::size_t second = 0;
  std::string site;
  std::vector<int> layers;
  std::vector<int> other_layers;

  bool is_within() const { return first == second; }
};

/// Returns the pairs of indices into `plan.layers` and `plan.other_layers` to compute: half of them
/// if the map is symmetric.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const MapPlan& plan);

/// Compares the layers of a map: one row per pair of them, and with a jackknife the samples of a
/// map within a capture, as prepare_similarity() names them.
/// @throws InvalidArgument  if rows of a layer cannot be compared because all are equal or one is
///                          not finite.
/// @throws IoError, FormatError  as CaptureReader.
UnitResult measure_map(const SimilarityTask& shared, const MapPlan& plan,
                       const UnitContext& context);

/// Sets the memory of measure_map(): the rows of all layers in float, with their lengths, and per
/// thread a product of two layers.
void set_bytes(Unit& unit, const SimilarityTask& shared, const MapPlan& plan);

}  // namespace lime
