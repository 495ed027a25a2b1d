// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "analysis/report/results_output.h"

namespace lime {

/// What the report says beside the rows.
struct RouterNotes {
  std::string checkpoint;
  std::string label;
  std::string capture;  ///< path; empty without one
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  bool is_routed = false;         ///< false: a plain transformer
  bool has_cancellation = false;  ///< the capture could tell
  bool per_dimension = false;     ///< R is the mean over the dimensions of a head
};

/// Adds to the rows of prepare_router() what people need to read them: the shares of embedding,
/// first, previous and own layers as sentences, the maps in shades, and tables of numbers.
Report make_router_report(Results results, const RouterNotes& notes);

}  // namespace lime
