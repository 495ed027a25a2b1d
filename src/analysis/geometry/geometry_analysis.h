// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/engine/analysis.h"
#include "metrics/geometry/intrinsic_dimension.h"
#include "metrics/geometry/layer_geometry.h"
#include "metrics/geometry/spectrum.h"
#include "metrics/geometry/views.h"
#include "metrics/rows.h"
#include "metrics/summary.h"

namespace lime {

enum class GeometryGroup {
  kRank,        ///< effective rank, RankMe, participation ratio, stable and numerical rank
  kSimilarity,  ///< anisotropy, similarity within sequences, rank-one residual
  kCurvature,
  kMassive,     ///< fraction of massive activations
  kDimension,   ///< TwoNN and maximum likelihood
  kFirstToken,  ///< norm of the first token, and the spectrum with and without it
  kPowerLaw,    ///< decay of the spectrum; only where it is named
  kViews,       ///< DiME, InfoNCE and LiDAR of augmented views; only where it is named
};

constexpr auto names_of(GeometryGroup) {
  using enum GeometryGroup;
  return enum_table<GeometryGroup>({{kRank, "rank"},
                                    {kSimilarity, "similarity"},
                                    {kCurvature, "curvature"},
                                    {kMassive, "massive"},
                                    {kDimension, "dimension"},
                                    {kFirstToken, "first-token"},
                                    {kPowerLaw, "power-law"},
                                    {kViews, "views"}});
}

enum class RankScope { kRows, kSequences, kBoth };

constexpr auto names_of(RankScope) {
  using enum RankScope;
  return enum_table<RankScope>({{kRows, "rows"}, {kSequences, "sequences"}, {kBoth, "both"}});
}

enum class RankMePreset { kPaper, kStablePretraining, kTensorflowGnn, kNone };

constexpr auto names_of(RankMePreset) {
  using enum RankMePreset;
  return enum_table<RankMePreset>({{kPaper, "paper"},
                                   {kStablePretraining, "stable-pretraining"},
                                   {kTensorflowGnn, "tensorflow-gnn"},
                                   {kNone, "none"}});
}

/// Returns 1e-7, 1e-5, 1e-12 or 0.
double rankme_epsilon(RankMePreset preset);

struct GeometryAnalysisOptions {
  CaptureSetOptions captures;
  std::vector<GeometryGroup> measure;  ///< empty: all but power-law and views
  RankScope ranks = RankScope::kRows;
  Centering centering = Centering::kAsDefined;
  RankMePreset rankme = RankMePreset::kPaper;
  std::optional<double> rank_tolerance;
  PowerLawRange power_law;
  MassiveActivationOptions massive;
  IntrinsicDimensionOptions dimension;
  std::int64_t neighbor_rows = 10000;
  ViewOptions views;
  SummaryOptions summary;
  std::int64_t jackknife = 0;

  bool wants(GeometryGroup group) const;
  bool measures_items() const;
  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  void validate() const;
};

/// Returns what layer_geometry() must measure for `options`.
/// @param neighbors  rows for the neighbour search, ascending
LayerGeometryOptions layer_geometry_options(const GeometryAnalysisOptions& options,
                                            const std::vector<std::int64_t>& neighbors);

/// Prepares the geometry of layers: ranks, similarity, curvature, massive activations and intrinsic
/// dimension, and measures of augmented views (docs/geometry.md has definitions and sources). One
/// unit per capture, site and layer, with one row per measure; one pass over the layer, and one for
/// its mean if the capture's statistics cover other rows.
/// @throws InvalidArgument  if a capture holds pooled rows or only some tokens, a sequence of one
///                          token, or lacks a site, layer or the views.
Analysis prepare_geometry(const GeometryAnalysisOptions& options, const RunOptions& run);

}  // namespace lime
