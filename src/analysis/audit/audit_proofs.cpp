// SPDX-License-Identifier: Apache-2.0
#include "analysis/audit/audit_proofs.h"

#include <algorithm>
#include <array>
#include <optional>

#include "analysis/audit/audit_metric.h"

namespace lime {
namespace {

/// What a transform does to the activations of a site.
enum class SiteAction {
  kRotation,     ///< rows times an orthogonal matrix, one per layer except for the stream
  kPermutation,  ///< dimensions in another order, of each layer its own except for the stream
  kScale,        ///< a factor for each dimension or head
  kHeadOrder,    ///< heads are numbered differently
  kExpertOrder,  ///< experts are numbered differently
  kStreamOrder,  ///< residual streams are numbered differently
  kWeightScale,  ///< the weights of a router times numbers
  kKeySize,      ///< the size of keys, by which the weights of a router may be multiplied
};

struct TransformAction {
  std::string_view transform;
  std::string_view site;
  SiteAction action;
};

/// Pairs that are not here do not act.
constexpr auto kActions = std::to_array<TransformAction>({
    {"value-scale", "values", SiteAction::kScale},
    {"value-scale", "routed_values", SiteAction::kScale},
    {"value-scale", "attn.hook_z", SiteAction::kScale},
    {"value-rotation", "values", SiteAction::kRotation},
    {"value-rotation", "routed_values", SiteAction::kRotation},
    {"value-rotation", "attn.hook_z", SiteAction::kRotation},
    {"query-key-scale", "keys", SiteAction::kScale},
    {"query-key-scale", "attn.hook_q", SiteAction::kScale},
    {"query-key-scale", "weights", SiteAction::kKeySize},
    {"head-permutation", "values", SiteAction::kPermutation},
    {"head-permutation", "routed_values", SiteAction::kPermutation},
    {"head-permutation", "attn.hook_z", SiteAction::kPermutation},
    {"head-permutation", "attn.hook_result", SiteAction::kPermutation},
    {"head-permutation", "attn.hook_value_result", SiteAction::kPermutation},
    {"head-permutation", "keys", SiteAction::kPermutation},
    {"head-permutation", "attn.hook_q", SiteAction::kPermutation},
    {"head-permutation", "attn.hook_profile", SiteAction::kHeadOrder},
    {"head-permutation", "weights", SiteAction::kHeadOrder},
    {"unit-scale", "mlp.hook_pre_linear", SiteAction::kScale},
    {"unit-scale", "mlp.hook_pre", SiteAction::kScale},
    {"unit-scale", "mlp.hook_post", SiteAction::kScale},
    {"unit-permutation", "mlp.hook_pre_linear", SiteAction::kPermutation},
    {"unit-permutation", "mlp.hook_pre", SiteAction::kPermutation},
    {"unit-permutation", "mlp.hook_post", SiteAction::kPermutation},
    {"expert-permutation", "experts", SiteAction::kExpertOrder},
    {"residual-rotation", "hidden", SiteAction::kRotation},
    {"residual-rotation", "hook_attn_out", SiteAction::kRotation},
    {"residual-rotation", "attn.hook_result", SiteAction::kRotation},
    {"residual-rotation", "attn.hook_value_result", SiteAction::kRotation},
    {"residual-rotation", "hook_mlp_out", SiteAction::kRotation},
    {"residual-rotation", "hook_streams", SiteAction::kRotation},
    {"residual-rotation", "streams", SiteAction::kRotation},
    {"residual-permutation", "streams", SiteAction::kPermutation},
    {"residual-permutation", "hidden", SiteAction::kPermutation},
    {"residual-permutation", "hook_attn_out", SiteAction::kPermutation},
    {"residual-permutation", "attn.hook_result", SiteAction::kPermutation},
    {"residual-permutation", "attn.hook_value_result", SiteAction::kPermutation},
    {"residual-permutation", "hook_mlp_out", SiteAction::kPermutation},
    {"residual-permutation", "hook_streams", SiteAction::kPermutation},
    // The values that a router mixes keep their sum. Layer 0 reads its own, scaled values.
    {"route-scale", "values", SiteAction::kScale},
    {"route-scale", "keys", SiteAction::kScale},
    {"route-scale", "routed_values", SiteAction::kScale},
    {"route-scale", "attn.hook_z", SiteAction::kScale},
    {"route-scale", "weights", SiteAction::kWeightScale},
    {"stream-permutation", "hook_streams", SiteAction::kPermutation},
    {"stream-permutation", "streams", SiteAction::kStreamOrder},
});

std::optional<SiteAction> action_of(std::string_view transform, std::string_view site) {
  for (const TransformAction& entry : kActions) {
    if (entry.transform == transform && entry.site == site) return entry.action;
  }
  return std::nullopt;
}

constexpr bool is_one_of(std::string_view name, const auto& names) {
  return std::ranges::find(names, name) != names.end();
}

/// Returns true for sites whose dimensions are those of the stream in every layer.
bool is_of_stream(std::string_view site) {
  constexpr std::array<std::string_view, 4> kSites = {"hidden", "hook_attn_out", "hook_mlp_out",
                                                      "hook_streams"};
  return is_one_of(site, kSites);
}

/// Returns true for measures that compare the rows of two layers dimension by dimension.
bool is_between_layers(const AuditedMeasure& measure) {
  return measure.metric == AuditMetric::kSimilarity &&
         (measure.measure == "influence" || measure.measure == "angle");
}

/// Returns true for measures that are functions of inner products of rows: spectra, norms, angles,
/// distances. Single dimensions, sums of magnitudes and standardised dimensions are none.
bool is_of_inner_products(const AuditedMeasure& measure) {
  constexpr std::array<std::string_view, 4> kGeometryByDimension = {
      "massive_share", "massive_token_share", "largest_to_median", "rank_one_residual_1inf"};
  // Which rows are massive is also decided without the outlier dimensions, which a rotation moves.
  constexpr std::array<std::string_view, 3> kCollapseOfNorms = {"largest_ratio", "participation",
                                                                "sequence_entropy"};
  // With more tokens than dimensions a matrix of dimensions is clamped.
  const std::optional<EntropyPreset> preset = preset_of(measure.metric);
  if (preset && (needs_standardization(*preset) || clamps_gram(*preset))) return false;
  switch (measure.metric) {
    case AuditMetric::kSeparability: return false;
    case AuditMetric::kGeometry: return !is_one_of(measure.measure, kGeometryByDimension);
    case AuditMetric::kCollapse: return is_one_of(measure.measure, kCollapseOfNorms);
    default: return !is_between_layers(measure) || is_of_stream(measure.site);
  }
}

/// Returns true for measurements that first give every dimension the same variance.
bool standardizes(AuditMetric metric) {
  const std::optional<EntropyPreset> preset = preset_of(metric);
  return metric == AuditMetric::kSeparability || (preset && needs_standardization(*preset));
}

}  // namespace

std::string proof_of(std::string_view transform, const AuditedMeasure& measure) {
  if (measure.metric == AuditMetric::kTsne) return "";  // gradient descent amplifies rounding
  const std::optional<SiteAction> action = action_of(transform, measure.site);
  if (!action) return "the transform does not change what is measured";
  switch (*action) {
    case SiteAction::kPermutation:
      if (measure.metric == AuditMetric::kSeparability)
        return "";  // sums of floats in another order
      if (is_between_layers(measure) && !is_of_stream(measure.site)) return "";
      return "it does not depend on the order of dimensions";
    case SiteAction::kRotation:
      return is_of_inner_products(measure) ? "it is a function of inner products" : "";
    case SiteAction::kScale:
      return standardizes(measure.metric) ? "every dimension is standardised first" : "";
    case SiteAction::kHeadOrder: return measure.per == "head" ? "" : "it is a mean over heads";
    case SiteAction::kExpertOrder:
      return measure.per == "load" || measure.per == "group" ? ""
                                                             : "it is symmetric in the experts";
    case SiteAction::kStreamOrder:
      return measure.per == "stream" ? "" : "it is symmetric in the streams";
    case SiteAction::kKeySize:
      return measure.weighting == "keys" ? "" : "the transform does not change what is measured";
    case SiteAction::kWeightScale:
      return measure.weighting == "keys" || measure.weighting == "values"
                 ? "weights are multiplied by the scale of what they read"
                 : "";
  }
  return "";
}

}  // namespace lime
