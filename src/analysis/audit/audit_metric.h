// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/options.h"
#include "metrics/entropy/entropy_preset.h"

namespace lime {

/// Measurements of an audit; audit_measurements() has their definitions.
enum class AuditMetric {
  kEntropyLimeCode,
  kEntropyRaw,
  kEntropySeqVcr,
  kEntropyLayerByLayer,
  kEntropyMatrixEntropy,
  kGeometry,
  kDimension,
  kPowerLaw,
  kViews,
  kSimilarity,
  kNeighbors,
  kCollapse,
  kSeparability,
  kTsne,
  kAttention,
  kLens,
  kRouter,
  kExperts,
  kStreams,
};

constexpr auto names_of(AuditMetric) {
  using enum AuditMetric;
  return enum_table<AuditMetric>({{kEntropyLimeCode, "entropy-lime-code"},
                                  {kEntropyRaw, "entropy-raw"},
                                  {kEntropySeqVcr, "entropy-seq-vcr"},
                                  {kEntropyLayerByLayer, "entropy-layer-by-layer"},
                                  {kEntropyMatrixEntropy, "entropy-matrix-entropy"},
                                  {kGeometry, "geometry"},
                                  {kDimension, "dimension"},
                                  {kPowerLaw, "power-law"},
                                  {kViews, "views"},
                                  {kSimilarity, "similarity"},
                                  {kNeighbors, "neighbors"},
                                  {kCollapse, "collapse"},
                                  {kSeparability, "separability"},
                                  {kTsne, "tsne"},
                                  {kAttention, "attention"},
                                  {kLens, "lens"},
                                  {kRouter, "router"},
                                  {kExperts, "experts"},
                                  {kStreams, "streams"}});
}

/// Returns the preset of an entropy; nothing for other measurements.
constexpr std::optional<EntropyPreset> preset_of(AuditMetric metric) {
  switch (metric) {
    case AuditMetric::kEntropyLimeCode: return EntropyPreset::kLimeCode;
    case AuditMetric::kEntropyRaw: return EntropyPreset::kRaw;
    case AuditMetric::kEntropySeqVcr: return EntropyPreset::kSeqVcr;
    case AuditMetric::kEntropyLayerByLayer: return EntropyPreset::kLayerByLayer;
    case AuditMetric::kEntropyMatrixEntropy: return EntropyPreset::kMatrixEntropy;
    default: return std::nullopt;
  }
}

}  // namespace lime
