// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "analysis/engine/analysis.h"
#include "analysis/engine/journal.h"

namespace lime {

/// Returns the memory in bytes that the units of an analysis need at most.
/// @throws InvalidArgument  if a unit needs more memory than there is.
std::int64_t peak_memory(const Analysis& analysis, const RunOptions& run);

/// Runs an analysis: hashes its inputs and computes its units in parallel. Rows are in the order of
/// the units and do not depend on threads, memory or interruptions.
/// @param on_progress  called from this thread; counts the work of the remaining units.
/// @throws InvalidArgument  if a unit needs more memory than there is.
/// @throws Interrupted      if `stop` was requested; states what is kept and how to resume.
/// @throws what a unit throws, prefixed with the unit's `where`.
AnalysisResult compute(const Analysis& analysis, const RunOptions& run,
                       const ProgressFn& on_progress = {}, const std::stop_token& stop = {});

/// Returns the report of a result: what people need to read it, in any format.
Report report_of(const Analysis& analysis, AnalysisResult result);

/// Returns the report of what compute() returns.
Report run_analysis(const Analysis& analysis, const RunOptions& run,
                    const ProgressFn& on_progress = {}, const std::stop_token& stop = {});

/// Runs the units of journal.share(), all of them or those of one of several processes.
/// @param journal  stores finished units and supplies those of an earlier run. Its owner removes it
///                 when the report is written; an error that would recur removes it too.
/// @return the result if the journals of the others hold the rest, else nothing. If several end at
///         once, all get the same.
/// @throws as compute() and Journal::open()
std::optional<AnalysisResult> compute_share(const Analysis& analysis, const RunOptions& run,
                                            Journal& journal, const ProgressFn& on_progress = {},
                                            const std::stop_token& stop = {});

/// Returns the difference of a finished result from `analysis` in metric, version, options or
/// inputs, as to_text(JsonDifference); empty if there is none. Requires `analysis.hashed_inputs`.
std::string difference_to_result(const Results& finished, const Analysis& analysis,
                                 const RunOptions& run);

}  // namespace lime
