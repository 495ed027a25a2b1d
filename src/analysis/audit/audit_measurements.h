// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/audit/audit_rows.h"
#include "analysis/audit/audit_variants.h"

namespace lime {

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
};

const std::vector<AuditMeasurement>& audit_measurements();

/// Returns a row of kind kAuditedValue per measured number in a row of results: its place,
/// `measure` with `per` (for single heads, streams and experts) and its qualifiers, `mean` and the
/// ends of its interval.
std::vector<ResultRow> audited_rows(const AuditMeasurement& measurement, const ResultRow& row);

}  // namespace lime
