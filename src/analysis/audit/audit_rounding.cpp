// SPDX-License-Identifier: Apache-2.0
#include "analysis/audit/audit_rounding.h"

namespace lime {

double rounding_of(AuditMetric metric) {
  switch (metric) {
    // An accuracy changes by whole rows, one of which may be on the boundary between two classes.
    case AuditMetric::kSeparability: return 2e-2;
    // A set of neighbours changes by whole neighbours, two of which may be equally distant.
    case AuditMetric::kNeighbors: return 1e-2;
    // Gradient descent amplifies rounding, and ends at another embedding of much the same quality.
    case AuditMetric::kTsne: return 0.1;
    default: return 1e-3;
  }
}

}  // namespace lime
