// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>

namespace lime {

enum class LinePattern { kSolid, kDashed, kDotted, kDashDotted, kNone };
enum class MarkerShape { kNone, kDisc, kSquare, kTriangle, kDiamond };

/// Returns the marker of the `index`-th series: four shapes in turn.
constexpr MarkerShape marker_of(std::size_t index) {
  return static_cast<MarkerShape>(1 + index % 4);
}

/// Colour of items that belong to no class: greyish.
inline constexpr std::size_t kMutedColour = std::numeric_limits<std::size_t>::max();

/// Colours of negative and positive numbers, those of the ends of signed heatmaps.
inline constexpr std::size_t kNegativeColour = kMutedColour - 1;
inline constexpr std::size_t kPositiveColour = kMutedColour - 2;

/// Returns true if a colour is the number of a class, and none of those above.
constexpr bool is_class_colour(std::size_t colour) { return colour < kPositiveColour; }

/// Style of a series or class: its class number, and a pattern and marker that need no colour.
struct SeriesStyle {
  std::size_t colour = 0;  ///< class number, or one of the colours above
  LinePattern pattern = LinePattern::kSolid;
  MarkerShape marker = MarkerShape::kDisc;
  bool is_faint = false;  ///< thin and pale, drawn in the background
  double width = 1.0;     ///< line width relative to the default

  bool operator==(const SeriesStyle&) const = default;
};

}  // namespace lime
