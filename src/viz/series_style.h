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

/// Number of colours of groups, after which they repeat.
inline constexpr std::size_t kGroupColours = 7;
/// Returns the colour of the `index`-th group that is no model: a cause, a part, a class of tokens.
constexpr std::size_t group_colour(std::size_t index) {
  return kPositiveColour - 1 - index % kGroupColours;
}
constexpr bool is_group_colour(std::size_t colour) {
  return colour < kPositiveColour && colour >= kPositiveColour - kGroupColours;
}

/// Steps of the sequential palette, for groups with an order.
inline constexpr std::size_t kNumSteps = 1000;
inline constexpr std::size_t kFirstStepColour = kPositiveColour - kGroupColours - kNumSteps - 1;
/// @param fraction  0 for the first group, 1 for the last
constexpr std::size_t step_colour(double fraction) {
  return kFirstStepColour +
         static_cast<std::size_t>(fraction * static_cast<double>(kNumSteps) + 0.5);
}
constexpr bool is_step_colour(std::size_t colour) {
  return colour >= kFirstStepColour && colour <= kFirstStepColour + kNumSteps;
}

/// Returns true if a colour is the number of a model, and none of those above.
constexpr bool is_class_colour(std::size_t colour) { return colour < kFirstStepColour; }

/// Style of a series or class: its colour, and a pattern and marker that need no colour.
struct SeriesStyle {
  std::size_t colour = 0;  ///< number of a model, or one of the colours above
  LinePattern pattern = LinePattern::kSolid;
  MarkerShape marker = MarkerShape::kDisc;
  bool is_faint = false;  ///< thin and pale, drawn in the background
  double width = 1.0;     ///< line width relative to the default

  bool operator==(const SeriesStyle&) const = default;
};

}  // namespace lime
