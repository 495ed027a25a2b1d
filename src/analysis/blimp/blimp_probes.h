// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to the BLiMP analysis: the units of its probes.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/blimp/blimp_results.h"

namespace lime {

/// Returns the probe units, one per site and layer of input `index`. Refuses rows that are not
/// pooled and tasks with fewer pairs than folds.
std::vector<Unit> probe_units(const std::shared_ptr<const BlimpShared>& shared, std::size_t index);

struct TaskProbe {
  ProbeResult real;
  std::optional<ProbeResult> control = std::nullopt;
};

/// Probes every task in one layer as the units do, each on one thread: rows 2 i and 2 i + 1 are the
/// good and the bad sentence of pair i, classes 1 and 0. Progress counts tasks.
/// @throws InvalidArgument  if a value is not finite.
std::vector<TaskProbe> probe_pairs(const CaptureReader& capture, const std::string& site, int layer,
                                   const std::vector<PairTask>& tasks, const BlimpOptions& options,
                                   const UnitContext& context);

/// @throws InvalidArgument  unless there is a row per sentence, and no fewer pairs per task than
///                          folds.
void check_probed_pairs(const CaptureReader& capture, const std::vector<PairTask>& tasks,
                        int folds);

}  // namespace lime
