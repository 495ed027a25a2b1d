// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/engine/capture_set.h"
#include "core/options.h"
#include "metrics/geometry/intrinsic_dimension.h"
#include "metrics/geometry/layer_geometry.h"
#include "metrics/geometry/lidar.h"
#include "metrics/summary.h"

namespace lime {

/// Measures that are computed together.
enum class GeometryGroup {
  kRank,        ///< effective rank, RankMe, participation ratio, stable and numerical rank
  kSimilarity,  ///< anisotropy, similarity within sequences, rank-one residual
  kCurvature,
  kMassive,    ///< fraction of massive activations
  kDimension,  ///< TwoNN and maximum likelihood
  kLidar,      ///< LiDAR with tokens as classes; only where it is named
};

template <>
struct EnumNames<GeometryGroup> {
  static constexpr std::array<std::pair<GeometryGroup, std::string_view>, 6> kNames = {
      {{GeometryGroup::kRank, "rank"},
       {GeometryGroup::kSimilarity, "similarity"},
       {GeometryGroup::kCurvature, "curvature"},
       {GeometryGroup::kMassive, "massive"},
       {GeometryGroup::kDimension, "dimension"},
       {GeometryGroup::kLidar, "lidar"}}};
};

/// Matrices whose ranks are measured.
enum class RankScope { kRows, kSequences, kBoth };

template <>
struct EnumNames<RankScope> {
  static constexpr std::array<std::pair<RankScope, std::string_view>, 3> kNames = {
      {{RankScope::kRows, "rows"},
       {RankScope::kSequences, "sequences"},
       {RankScope::kBoth, "both"}}};
};

/// Source of RankMe's epsilon.
enum class RankMePreset { kPaper, kStablePretraining, kTensorflowGnn, kNone };

template <>
struct EnumNames<RankMePreset> {
  static constexpr std::array<std::pair<RankMePreset, std::string_view>, 4> kNames = {
      {{RankMePreset::kPaper, "paper"},
       {RankMePreset::kStablePretraining, "stable-pretraining"},
       {RankMePreset::kTensorflowGnn, "tensorflow-gnn"},
       {RankMePreset::kNone, "none"}}};
};

/// Returns 1e-7, 1e-5, 1e-12 or 0.
double rankme_epsilon(RankMePreset preset);

/// Classes of LiDAR: occurrences of one token.
struct TokenClassOptions {
  std::int64_t size = 16;     ///< occurrences of a token that make a class, >= 2
  std::int64_t count = 1000;  ///< tokens at most, drawn among those with enough occurrences, >= 2
  LidarOptions lidar;
};

/// Options of the geometry analysis.
struct GeometryAnalysisOptions {
  CaptureSetOptions captures;
  /// Only the first sequences of each capture, > 0; unset: all.
  std::optional<std::int64_t> max_sequences;
  std::vector<GeometryGroup> measure;  ///< empty: all but lidar
  RankScope ranks = RankScope::kRows;
  Centering centering = Centering::kAsDefined;
  RankMePreset rankme = RankMePreset::kPaper;
  std::optional<double> rank_tolerance;
  MassiveActivationOptions massive;
  IntrinsicDimensionOptions dimension;
  /// Rows drawn at random for the neighbour search, >= 3.
  std::int64_t neighbor_rows = 10000;
  TokenClassOptions token_classes;
  SummaryOptions summary;
  /// Blocks of sequences left out in turn, for intervals and comparisons of what is measured of all
  /// rows together; 0: none, else >= 5.
  std::int64_t jackknife = 0;

  bool wants(GeometryGroup group) const;
  /// Returns whether any measure is per sequence or per block of sequences.
  bool measures_items() const;
  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  /// @throws InvalidArgument
  void validate() const;
};

}  // namespace lime
