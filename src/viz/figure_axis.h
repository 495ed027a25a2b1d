// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lime {

/// A position on an axis with its own label.
struct AxisTick {
  double at = 0.0;
  std::string label;
};

/// Axis labels to use if its tick labels do not fit.
struct CrowdedAxis {
  std::string addition;         ///< appended to the label: ", position"
  std::vector<AxisTick> ticks;  ///< evenly spaced; every n-th is drawn so that labels fit
};

struct FigureAxis {
  std::string label = {};          ///< with its unit: "entropy (nats)"
  std::optional<double> min = {};  ///< unset: from the data
  std::optional<double> max = {};
  bool whole_numbers = false;        ///< ticks at whole numbers only
  bool logarithmic = false;          ///< values > 0
  std::vector<AxisTick> ticks = {};  ///< empty: computed from the range
  bool hides_numbers = false;        ///< neither ticks nor labels: t-SNE has no units
  /// Replaces `ticks` in small panels, for axes with a text at each tick.
  std::optional<CrowdedAxis> if_crowded = {};
};

/// Returns `count` numbers from `first` on.
std::vector<int> numbers_from(int first, int count);

/// Returns about ten ticks for these numbers.
std::vector<AxisTick> number_ticks(const std::vector<int>& numbers);
/// Returns ticks of `count` layers or heads, the first labelled `base`.
std::vector<AxisTick> layer_ticks(int count, int base);

/// Returns the smallest of 1, 2, 5, 10, ... that divides `count` into at most `most` >= 1 steps.
int round_step(int count, int most);

}  // namespace lime
