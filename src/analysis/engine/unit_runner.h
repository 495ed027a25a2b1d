// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>

#include "analysis/engine/analysis.h"
#include "core/memory.h"

namespace lime {

/// Number of units that run at once, and threads of each.
struct UnitPlan {
  int workers = 1;
  int threads_inside = 1;
  /// Memory limit of all running units together.
  std::int64_t memory = 0;
};

/// Plans the units for `threads` threads and the memory limit minus the memory already in use.
/// @throws InvalidArgument  if a unit alone needs more; reports how many do, and the largest one.
UnitPlan plan_units(std::span<const Unit* const> units, UnitThreads kind, int threads,
                    std::optional<ByteSize> memory_limit);

/// Returns the memory in bytes that `units` need at most when they run as planned.
std::int64_t peak_memory(std::span<const Unit* const> units, const UnitPlan& plan);

/// Runs units in their order on the threads of `plan`.
/// @param on_finished  called from this thread, with the index in `units`, as they finish.
/// @param on_progress  called from this thread; counts the work of these units.
/// @throws Interrupted  if `stop` was requested; units that finished meanwhile are still reported.
/// @throws what the first unit that failed threw, with `where` in front.
void run_units(std::span<const Unit* const> units, const UnitPlan& plan,
               const std::function<void(std::size_t, UnitResult)>& on_finished,
               const ProgressFn& on_progress, const std::stop_token& stop);

}  // namespace lime
