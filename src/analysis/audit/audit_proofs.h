// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "analysis/audit/audit_metric.h"

namespace lime {

/// A measure of one site by one measurement of an audit.
struct AuditedMeasure {
  AuditMetric metric;
  std::string_view site;  ///< "weights" for routers
  std::string_view measure;
  std::string_view per = {};        ///< kind of the rows it is measured in; empty: whole layers
  std::string_view weighting = {};  ///< of a router
};

/// Returns why a transform cannot change a measure; empty if nothing proves it.
///
/// A site on which a transform does not act has the same activations. On the others a measure is
/// invariant if it is invariant under the action: an orthogonal matrix, a permutation, or factors
/// of heads or dimensions. docs/invariance.md has the same in words.
std::string proof_of(std::string_view transform, const AuditedMeasure& measure);

}  // namespace lime
