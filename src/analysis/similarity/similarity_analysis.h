// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/engine/analysis.h"

namespace lime {

enum class SimilarityMaps {
  kAll,      ///< of each capture with itself, and of each pair of captures
  kWithin,   ///< of each capture with itself
  kBetween,  ///< of each pair of captures
};

constexpr auto names_of(SimilarityMaps) {
  using enum SimilarityMaps;
  return enum_table<SimilarityMaps>({{kAll, "all"}, {kWithin, "within"}, {kBetween, "between"}});
}

enum class SimilarityGroup {
  kCka,         ///< linear CKA, biased and debiased
  kProcrustes,  ///< Procrustes distance
  kChange,      ///< block influence and angular distance, between layers of the same width
  kNeighbors,   ///< mutual nearest neighbours and information imbalance; only where it is named
};

constexpr auto names_of(SimilarityGroup) {
  using enum SimilarityGroup;
  return enum_table<SimilarityGroup>(
      {{kCka, "cka"}, {kProcrustes, "procrustes"}, {kChange, "change"}, {kNeighbors, "neighbors"}});
}

/// Measure that the printed maps show; files contain all requested measures.
enum class SimilarityMeasure {
  kCka,
  kCkaDebiased,
  kProcrustes,
  kInfluence,
  kAngle,
  kMutualKnn,
  kImbalance
};

constexpr auto names_of(SimilarityMeasure) {
  using enum SimilarityMeasure;
  return enum_table<SimilarityMeasure>({{kCka, "cka"},
                                        {kCkaDebiased, "cka-debiased"},
                                        {kProcrustes, "procrustes"},
                                        {kInfluence, "influence"},
                                        {kAngle, "angle"},
                                        {kMutualKnn, "mutual-knn"},
                                        {kImbalance, "imbalance"}});
}

struct SimilarityAnalysisOptions {
  CaptureSetOptions captures;
  SimilarityMaps maps = SimilarityMaps::kAll;
  std::vector<SimilarityGroup> measure;  ///< empty: all but neighbors
  std::int64_t k = 10;                   ///< mutual nearest neighbours, >= 1
  /// Unset: the first measure of cka-debiased, procrustes and influence that is computed.
  std::optional<SimilarityMeasure> show;
  std::int64_t max_rows = 4096;
  std::int64_t jackknife = 0;
  double confidence = 0.95;

  bool wants(SimilarityGroup group) const;
  SimilarityMeasure shown() const;
  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares similarity maps of layers: linear CKA, biased and debiased, the Procrustes distance,
/// block influence and angular distance, of every layer of a site with every layer of that site in
/// the same capture or in another one of the same tokens. The rows drawn of all layers are kept in
/// memory.
///
/// One unit per site and pair of captures, with one row per pair of layers. Influence and angle
/// have intervals over sequences, the others with a jackknife; then maps within a capture also give
/// samples, one per block, of every pair of different layers.
/// @throws InvalidArgument  if captures to be compared hold different tokens, or nothing is left to
///                          compare.
Analysis prepare_similarity(const SimilarityAnalysisOptions& options, const RunOptions& run);

}  // namespace lime
