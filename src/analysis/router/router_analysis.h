// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "analysis/engine/analysis.h"

namespace lime {

enum class RouterDetail {
  kLayers,   ///< the mean map, and numbers per layer
  kHeads,    ///< a map and numbers per target head
  kWeights,  ///< every signed weight
};

constexpr auto names_of(RouterDetail) {
  using enum RouterDetail;
  return enum_table<RouterDetail>({{kLayers, "layers"}, {kHeads, "heads"}, {kWeights, "weights"}});
}

struct RouterAnalysisOptions {
  std::filesystem::path checkpoint;  ///< folder
  /// Capture of this checkpoint, for maps that are invariant to rescaling of heads.
  std::optional<std::filesystem::path> capture;
  std::string label;  ///< in tables and results; empty: the folder's name
  std::optional<std::filesystem::path> initial;
  RouterDetail detail = RouterDetail::kHeads;
  /// Of lime-capture sweep --over depth-weights or routes of this checkpoint; empty: none.
  std::filesystem::path effects;
  std::optional<std::int64_t> max_sequences;

  void describe_inputs(OptionList& list);
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares the description of a checkpoint's routers and, with a capture, of the values that they
/// mix (docs/router.md lists rows and columns). `weighting` is none (|R|), keys or values (|R|
/// times the root mean square of the buffered head), or for mean maps a difference.
///
/// Reads only config.json and the routers; other weights only to compare their hash with the
/// capture's.
/// @throws InvalidArgument  if the capture is of another checkpoint, or --initial has other shapes.
Analysis prepare_router(const RouterAnalysisOptions& options, const RunOptions& run);

}  // namespace lime
