// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "viz/recipes/figure_row.h"

namespace lime {

/// Which entropy a row holds. Only rows that agree in it can be compared, so that they share a
/// panel.
struct EntropyKind {
  /// "lime-code", with what else the run changed: "layer-by-layer logN"; empty where neither the
  /// row nor the options of its results say it.
  std::string preset;
  std::string unit;   ///< "nats", "ratio" or "rank"; empty if the row has none
  std::string order;  ///< "alpha = 0.5", with the Greek letter; empty if the row has none

  bool operator==(const EntropyKind&) const = default;
};

/// Of one row; `sources` are those that its number counts.
EntropyKind entropy_kind_of(const FigureRow& row, std::span<const FigureSource> sources);

/// The different kinds of `rows`, in the order of their first appearance.
std::vector<EntropyKind> entropy_kinds(const std::vector<FigureRow>& rows,
                                       std::span<const FigureSource> sources);

/// What tells `kind` from the others of `all`, for a title: "raw, alpha = 2"; empty if it is alone.
std::string distinction_of(const EntropyKind& kind, const std::vector<EntropyKind>& all);

/// What all kinds have in common, for a note: "preset lime-code, alpha = 0.5"; may be empty.
std::string common_of(const std::vector<EntropyKind>& all);

}  // namespace lime
