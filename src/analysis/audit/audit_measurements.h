// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/audit/audit_variants.h"
#include "metrics/entropy/entropy_preset.h"

namespace lime {

/// Kinds of the rows of an audit: values of each variant, and (without a kind) their changes.
inline constexpr const char* kAuditedValue = "value";

/// Measure of rows whose value is a text, the verdict of a collapse analysis.
inline constexpr const char* kVerdictMeasure = "verdict";

/// One of the measurements of an audit.
struct AuditMeasurement {
  AuditMetric metric;
  /// Prepares it for a variant.
  Analysis (*prepare)(const AuditVariant& variant, const AuditOptions& options,
                      const RunOptions& run);
  /// Returns whether the variant has what it measures. Empty: always.
  bool (*applies)(const AuditVariant& variant) = nullptr;
  /// Quantities to report; empty: all.
  std::vector<std::string_view> quantities = {};
  /// Name of its measure if rows do not have one; empty: that of the measurement.
  std::string_view measure = {};
  std::optional<EntropyPreset> preset = std::nullopt;  ///< of entropies
};

const std::vector<AuditMeasurement>& audit_measurements();

/// Returns the preset of an entropy; nothing for other measurements.
std::optional<EntropyPreset> preset_of(AuditMetric metric);

/// Columns that say what of a model a value is of: site, layer, head, ...
const std::vector<Column>& audit_place_columns();

/// Returns a row of kind kAuditedValue per measured number in a row of results: its place,
/// `measure` with `per` (for single heads, streams and experts) and its qualifiers, `mean` and the
/// ends of its interval.
std::vector<ResultRow> audited_rows(const AuditMeasurement& measurement, const ResultRow& row);

}  // namespace lime
