// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analysis/similarity/similarity_analysis.h"
#include "core/enum_rows.h"

namespace lime {

/// A measure: its group, its columns, and the meaning of its values.
struct SimilarityMeasureInfo {
  SimilarityMeasure measure;
  SimilarityGroup group;
  MeasuredColumn value;
  const char* meaning;
};

/// One row per measure, in the order of SimilarityMeasure.
inline constexpr auto kSimilarityMeasures = std::to_array<SimilarityMeasureInfo>(
    {{SimilarityMeasure::kCka, SimilarityGroup::kCka, col::kCka,
      "linear CKA (1: equal up to rotation and scale; biased above 0 with few rows)"},
     {SimilarityMeasure::kCkaDebiased, SimilarityGroup::kCka, col::kCkaDebiased,
      "debiased linear CKA (1: equal up to rotation and scale; 0: unrelated)"},
     {SimilarityMeasure::kProcrustes, SimilarityGroup::kProcrustes, col::kProcrustes,
      "Procrustes distance (0: equal up to rotation and scale; 2: unrelated)"},
     {SimilarityMeasure::kInfluence, SimilarityGroup::kChange, col::kInfluence,
      "block influence, 1 - mean cosine (0: same direction in both layers)"},
     {SimilarityMeasure::kAngle, SimilarityGroup::kChange, col::kAngle,
      "mean angle between the rows of two layers over 180 degrees"},
     {SimilarityMeasure::kMutualKnn, SimilarityGroup::kNeighbors, col::kMutualKnn,
      "fraction of common nearest neighbours (mutual k-nearest-neighbour alignment)"},
     {SimilarityMeasure::kImbalance, SimilarityGroup::kNeighbors, col::kImbalance,
      "information imbalance from the layer of the line to that of the column (0: its neighbours "
      "predict those of the other; 1: they do not)"}});

static_assert(has_row_per_enumerator(kSimilarityMeasures, &SimilarityMeasureInfo::measure,
                                     SimilarityMeasure::kImbalance));

inline const SimilarityMeasureInfo& info_of(SimilarityMeasure measure) {
  return kSimilarityMeasures[static_cast<std::size_t>(measure)];
}

struct SimilarityTask {
  SimilarityAnalysisOptions options;
  std::vector<ChosenCapture> captures;
  std::vector<std::vector<std::int64_t>> rows;  ///< of each capture, those that are compared
};

/// Opens the captures of `options` and draws the rows that are compared. @throws InvalidArgument
std::shared_ptr<SimilarityTask> open_similarity(const SimilarityAnalysisOptions& options,
                                                std::uint64_t seed);

/// A map to compute: layers of a site of one capture against those of another, or of the same.
struct MapPlan {
  std::size_t first = 0;
  std::size_t second = 0;
  std::string site;
  std::vector<int> layers;
  std::vector<int> other_layers;

  bool is_within() const { return first == second; }
};

/// Returns the pairs of layers to compute, as indices: half of them if the map is symmetric.
std::vector<std::pair<std::size_t, std::size_t>> pairs_of(const MapPlan& plan);

/// Compares the layers of a map: one row per pair of them, and with a jackknife samples.
/// @throws InvalidArgument  if all rows of a layer are equal, or one is not finite.
UnitResult measure_map(const SimilarityTask& shared, const MapPlan& plan,
                       const UnitContext& context);

/// Sets the memory of measure_map(): the rows of all layers in float, with their lengths, and per
/// thread a product of two layers.
void set_bytes(Unit& unit, const SimilarityTask& shared, const MapPlan& plan);

}  // namespace lime
