// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/program/progress.h"

namespace lime {

/// The environment variable that asks a program for its progress in lines that another program
/// reads: "json". See ProgressLine.
inline constexpr const char* kProgressVariable = "LIME_PROGRESS";

/// How far a program has come with one of the stages of its work.
struct ProgressReport {
  std::string stage;  ///< e.g. "capture"; each begins at its own first report
  std::string unit;   ///< of the counts, e.g. "tokens"
  Progress progress;
};

/// A report as one line, without its end: {"progress":"capture","unit":"tokens","done":512,
/// "total":4096,"note":"layer 7"}.
std::string to_json_line(const ProgressReport& report);

/// Reads such a line. @return nothing for any other line: programs say more than their progress.
std::optional<ProgressReport> parse_progress_report(std::string_view line);

}  // namespace lime
