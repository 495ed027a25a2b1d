// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/running_statistics.h"

namespace lime::testing {

/// Computes the statistics of all rows at once.
inline RunningStatistics statistics_of(const ConstMatrixRef& rows) {
  RunningStatistics statistics;
  statistics.add(rows);
  return statistics;
}

}  // namespace lime::testing
