// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lime::explorer {

/// What is selected, in all views at once. Layers and heads count from 0.
struct Selection {
  std::optional<int> layer = {};
  std::optional<int> head = {};          ///< target head of `layer`
  std::optional<int> source_layer = {};  ///< buffered layer that the head reads
  std::optional<int> source_head = {};
  /// Rows of the captures: the same numbers in all captures of one text. Ascending.
  std::vector<std::int64_t> rows = {};

  bool operator==(const Selection&) const = default;
};

/// A part of an axis, in its own units.
struct AxisWindow {
  double low = 0.0;
  double high = 1.0;

  bool operator==(const AxisWindow&) const = default;
};

}  // namespace lime::explorer
