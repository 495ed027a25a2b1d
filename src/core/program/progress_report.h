// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/program/progress.h"

namespace lime {

/// Names the environment variable that selects machine-readable progress: "json". See ProgressLine.
inline constexpr const char* kProgressVariable = "LIME_PROGRESS";

/// Reports the progress of one stage of a program.
struct ProgressReport {
  std::string stage;  ///< e.g. "capture"; each begins at its own first report
  std::string unit;   ///< of the counts, e.g. "tokens"
  Progress progress;
};

/// Returns a report as one line, without the line end:
/// {"progress":"capture","unit":"tokens","done":512,
/// "total":4096,"note":"layer 7"}.
std::string to_json_line(const ProgressReport& report);

/// Parses such a line. @return nothing for any other line that a program prints.
std::optional<ProgressReport> parse_progress_report(std::string_view line);

}  // namespace lime
