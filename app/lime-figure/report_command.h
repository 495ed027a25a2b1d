// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "core/options.h"
#include "figure_request.h"

namespace lime {

/// Options of `lime-figure report`: every figure, its numbers and its provenance in one HTML file.
struct ReportCommand : FigureRequest {
  std::filesystem::path output = "report.html";

  void describe(OptionList& options);
  void validate() const;
};

/// Writes the report. @return exit status
int run_report(const ReportCommand& command);

}  // namespace lime
