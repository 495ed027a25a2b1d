// SPDX-License-Identifier: Apache-2.0
#include "analysis/audit/audit_measurements.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/attention/attention_analysis.h"
#include "analysis/attention/attention_patterns.h"
#include "analysis/collapse/collapse_analysis.h"
#include "analysis/engine/qualifiers.h"
#include "analysis/engine/stored_results.h"
#include "analysis/entropy/entropy_analysis.h"
#include "analysis/experts/experts_analysis.h"
#include "analysis/experts/routed_layer.h"
#include "analysis/geometry/geometry_analysis.h"
#include "analysis/lens/lens_analysis.h"
#include "analysis/router/router_analysis.h"
#include "analysis/separability/separability_analysis.h"
#include "analysis/similarity/similarity_analysis.h"
#include "analysis/streams/streams_analysis.h"
#include "analysis/tsne/tsne_analysis.h"

namespace lime {
namespace {

constexpr std::int64_t kResamples = 1000;
constexpr std::int64_t kBlocks = 5;
constexpr std::int64_t kTsnePoints = 300;
constexpr double kTsnePerplexity = 20.0;

CaptureSetOptions capture_options(const std::filesystem::path& capture, const AuditVariant& variant,
                                  std::vector<std::string> site) {
  CaptureSetOptions options;
  options.captures = {capture};
  options.label = {variant.name};
  options.site = std::move(site);
  return options;
}

std::vector<std::string> representations(const CaptureReader& capture) {
  std::vector<std::string> sites = capture.sites();
  std::erase_if(sites, [](const std::string& site) { return !is_representation(site); });
  return sites;
}

CaptureSetOptions captures_of(const AuditVariant& variant) {
  return capture_options(variant.capture, variant, representations(CaptureReader(variant.capture)));
}

template <AuditMetric kMetric>
Analysis entropy_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  EntropyAnalysisOptions options;
  options.captures = captures_of(variant);
  options.entropy.preset = preset_of(kMetric).value();
  options.summary.resamples = kResamples;
  return prepare_entropy(options, run);
}

template <AuditMetric kMetric> AuditMeasurement entropy_measurement() {
  return {.metric = kMetric, .prepare = entropy_of<kMetric>, .measure = "entropy"};
}

Analysis geometry_with(const CaptureSetOptions& captures, std::vector<GeometryGroup> groups,
                       const RunOptions& run) {
  GeometryAnalysisOptions options;
  options.captures = captures;
  options.measure = std::move(groups);
  options.ranks = RankScope::kSequences;
  options.dimension.num_neighbors = 10;
  options.summary.resamples = kResamples;
  options.jackknife = kBlocks;
  return prepare_geometry(options, run);
}

Analysis geometry_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  return geometry_with(captures_of(variant),
                       {GeometryGroup::kRank, GeometryGroup::kSimilarity, GeometryGroup::kCurvature,
                        GeometryGroup::kMassive, GeometryGroup::kFirstToken},
                       run);
}

Analysis dimension_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  return geometry_with(captures_of(variant), {GeometryGroup::kDimension}, run);
}

Analysis power_law_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  return geometry_with(captures_of(variant), {GeometryGroup::kPowerLaw}, run);
}

Analysis views_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  const CaptureReader capture(variant.views);
  return geometry_with(capture_options(variant.views, variant, representations(capture)),
                       {GeometryGroup::kViews}, run);
}

Analysis similarity_with(const AuditVariant& variant, std::vector<SimilarityGroup> groups,
                         const RunOptions& run) {
  SimilarityAnalysisOptions options;
  options.captures = captures_of(variant);
  options.maps = SimilarityMaps::kWithin;
  options.measure = std::move(groups);
  options.jackknife = kBlocks;
  return prepare_similarity(options, run);
}

Analysis similarity_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  return similarity_with(
      variant, {SimilarityGroup::kCka, SimilarityGroup::kProcrustes, SimilarityGroup::kChange},
      run);
}

Analysis neighbors_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  return similarity_with(variant, {SimilarityGroup::kNeighbors}, run);
}

Analysis collapse_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  CollapseAnalysisOptions options;
  options.captures = captures_of(variant);
  return prepare_collapse(options, run);
}

Analysis separability_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  SeparabilityOptions options;
  options.captures =
      capture_options(variant.words, variant, representations(CaptureReader(variant.words)));
  return prepare_separability(options, run);
}

Analysis tsne_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  const CaptureReader capture(variant.capture);
  TsneAnalysisOptions options;
  options.captures = captures_of(variant);
  options.max_points = std::min(kTsnePoints, capture.num_rows());
  options.tsne.perplexity = kTsnePerplexity;
  return prepare_tsne(options, run);
}

Analysis attention_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  AttentionOptions options;
  options.captures = capture_options(variant.capture, variant, {});
  options.summary.resamples = kResamples;
  return prepare_attention(options, run);
}

Analysis lens_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  LensOptions options;
  options.captures = capture_options(variant.capture, variant, {});
  options.summary.resamples = kResamples;
  return prepare_lens(options, run);
}

Analysis router_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  RouterAnalysisOptions options;
  options.checkpoint = variant.checkpoint;
  options.capture = variant.capture;
  options.label = variant.name;
  return prepare_router(options, run);
}

Analysis experts_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  ExpertsOptions options;
  options.captures = capture_options(variant.capture, variant, {});
  options.summary.resamples = kResamples;
  options.jackknife = kBlocks;
  return prepare_experts(options, run);
}

Analysis streams_of(const AuditVariant& variant, const AuditOptions&, const RunOptions& run) {
  StreamsOptions options;
  options.captures = capture_options(variant.capture, variant, {});
  options.summary.resamples = kResamples;
  return prepare_streams(options, run);
}

bool has_site(const AuditVariant& variant, const std::string& site) {
  return CaptureReader(variant.capture).has(site);
}

bool has_attention(const AuditVariant& variant) { return has_site(variant, kProfileSite); }
bool has_lens(const AuditVariant& variant) { return has_site(variant, kLensSite); }
bool has_experts(const AuditVariant& variant) { return has_site(variant, kRouterLogitsSite); }
bool has_streams(const AuditVariant& variant) { return has_site(variant, kStreamsSite); }
bool has_router(const AuditVariant& variant) {
  return !CaptureReader(variant.capture).router_layers().empty();
}
bool has_words(const AuditVariant& variant) { return !variant.words.empty(); }
bool has_views(const AuditVariant& variant) { return !variant.views.empty(); }

/// Returns the name of what is measured if it is no site; null if it is.
const char* site_of(AuditMetric metric) {
  if (metric == AuditMetric::kRouter) return "weights";
  if (metric == AuditMetric::kExperts) return "experts";
  if (metric == AuditMetric::kStreams) return "streams";
  return nullptr;
}

/// Erases columns that rows of every weighting of a router repeat, except for one of them.
void keep_once(ResultRow& row) {
  if (!row.has(col::kWeighting)) return;
  if (row.text(col::kWeighting) != "none") {
    for (const Column& column : {col::kDistanceOwn, col::kOthersRatio, col::kDistanceInitial}) {
      row.erase(column);
    }
  }
  if (row.text(col::kWeighting) != "values") row.erase(col::kCancellation);
}

}  // namespace

const std::vector<AuditMeasurement>& audit_measurements() {
  static const std::vector<AuditMeasurement> kAll = {
      entropy_measurement<AuditMetric::kEntropyLimeCode>(),
      entropy_measurement<AuditMetric::kEntropyRaw>(),
      entropy_measurement<AuditMetric::kEntropySeqVcr>(),
      entropy_measurement<AuditMetric::kEntropyLayerByLayer>(),
      entropy_measurement<AuditMetric::kEntropyMatrixEntropy>(),
      {AuditMetric::kGeometry, geometry_of},
      {AuditMetric::kDimension, dimension_of},
      {AuditMetric::kPowerLaw, power_law_of},
      {AuditMetric::kViews, views_of, has_views},
      {AuditMetric::kSimilarity, similarity_of},
      {AuditMetric::kNeighbors, neighbors_of},
      {AuditMetric::kCollapse, collapse_of},
      {AuditMetric::kSeparability, separability_of, has_words, {"separability"}},
      {AuditMetric::kTsne, tsne_of, nullptr, {"kl_divergence", "trustworthiness"}},
      {AuditMetric::kAttention, attention_of, has_attention},
      {AuditMetric::kLens, lens_of, has_lens},
      {AuditMetric::kRouter, router_of, has_router},
      {AuditMetric::kExperts, experts_of, has_experts},
      {AuditMetric::kStreams, streams_of, has_streams},
  };
  return kAll;
}

std::vector<ResultRow> audited_rows(const AuditMeasurement& measurement, const ResultRow& row) {
  ResultRow place{{col::kKind, kAuditedValue}};
  ResultRow plain = row;
  for (const Column& column : audit_place_columns()) {
    if (row.has(column)) place.set_cell(column.name, row.cell(column));
    plain.erase(column);
  }
  const std::string kind = row.text(col::kKind);
  constexpr std::array<std::string_view, 6> kKinds = {"",       "layer", "head",
                                                      "stream", "load",  "group"};
  if (std::ranges::find(kKinds, kind) == kKinds.end()) return {};
  // A layer compared with itself is a constant.
  if (row.has(col::kOtherLayer) && row.cell(col::kOtherLayer) == row.cell(col::kLayer)) return {};
  if (const char* const site = site_of(measurement.metric)) place.set(col::kSite, site);
  keep_once(plain);
  // The name of the measurement has them.
  for (const Column& column :
       {Column(col::kKind), Column(col::kAlpha), Column(col::kPreset), Column(col::kOtherLabel),
        Column(col::kMethod), Column(col::kLabels)}) {
    plain.erase(column);
  }
  const std::string_view measure =
      measurement.measure.empty() ? enum_name(measurement.metric) : measurement.measure;
  const bool is_of_single = !kind.empty() && kind != "layer";
  std::vector<ResultRow> rows;
  for (const StoredValue& found : stored_values_of(plain, std::string(measure))) {
    const bool is_reported =
        measurement.quantities.empty() ||
        std::ranges::find(measurement.quantities, found.quantity) != measurement.quantities.end();
    if (!is_reported) continue;
    ResultRow& value = rows.emplace_back(place);
    value.set(col::kMeasure, found.quantity);
    if (is_of_single) value.set(col::kPer, kind);
    value.add(qualifying_cells(plain));
    value.set(col::kMean, found.value);
    if (std::isfinite(found.low) && std::isfinite(found.high)) {
      value.set(col::kCiLow, found.low).set(col::kCiHigh, found.high);
    }
  }
  if (row.has(col::kVerdict) && kind.empty()) {
    rows.emplace_back(place)
        .set(col::kMeasure, kVerdictMeasure)
        .set(col::kVerdict, row.text(col::kVerdict));
  }
  return rows;
}

}  // namespace lime
