// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "analysis/report/report.h"

namespace lime {

/// Facts that the report prints in addition to the rows.
struct RouterNotes {
  std::string checkpoint;
  std::string label;
  std::string capture;  ///< path; empty without one
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  bool is_routed = false;         ///< false: a plain transformer
  bool has_cancellation = false;  ///< the capture has the required rows
  bool per_dimension = false;     ///< R is the mean over the dimensions of a head
};

void fill_router_report(Report& report, const RouterNotes& notes);

}  // namespace lime
