// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "viz/recipes/figure_row.h"

namespace lime {

/// Definition of the entropy in a row. Only rows with the same definition are comparable and share
/// a panel.
struct EntropyKind {
  /// "lime-code", with changed options of the run: "layer-by-layer logN"; empty if neither the row
  /// nor the options of its results contain it.
  std::string preset;
  std::string unit;   ///< "nats", "ratio" or "rank"; empty if the row has none
  std::string order;  ///< "alpha = 0.5", with the Greek letter; empty if the row has none

  bool operator==(const EntropyKind&) const = default;
};

/// Returns the definition of one row's entropy from the row and its source in `sources`.
EntropyKind entropy_kind_of(const FigureRow& row, std::span<const FigureSource> sources);

/// Returns the distinct kinds of `rows`, in order of first appearance.
std::vector<EntropyKind> entropy_kinds(const std::vector<FigureRow>& rows,
                                       std::span<const FigureSource> sources);

/// Returns what distinguishes `kind` from the others in `all`, for a title: "raw, alpha = 2"; empty
/// if it is alone.
std::string distinction_of(const EntropyKind& kind, const std::vector<EntropyKind>& all);

/// Returns what all kinds have in common, for a note: "preset lime-code, alpha = 0.5"; may be
/// empty.
std::string common_of(const std::vector<EntropyKind>& all);

}  // namespace lime
