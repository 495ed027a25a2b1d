// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/report/results_output.h"
#include "core/program/progress.h"
#include "core/threads/work_share.h"

namespace lime {

/// A command's analysis with its inputs and progress texts.
struct ReportJob {
  OutputOptions output;
  std::vector<std::filesystem::path> inputs;  ///< never overwritten
  std::string progress_label;                 ///< e.g. "entropy"
  std::string progress_unit;                  ///< e.g. "sequences"
  WorkShare share;                            ///< part that this process computes
  /// Returns nothing if other processes have to finish the rest.
  std::function<std::optional<Report>(const ProgressFn&, const std::stop_token&)> analyze;
};

/// Opens the output files, computes with a progress line, writes the files and prints.
/// @return false if other processes have to finish the rest.
bool run_report(const ReportJob& job);

}  // namespace lime
