// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/options.h"
#include "viz/figure.h"

namespace lime {

enum class TrainingAxis { kSteps, kTokens, kFlops };

constexpr auto names_of(TrainingAxis) {
  return names_in_order<TrainingAxis>("steps", "tokens", "flops");
}

enum class BlimpGroups { kAll, kField, kLinguisticsTerm, kTask };

constexpr auto names_of(BlimpGroups) {
  return names_in_order<BlimpGroups>("all", "field", "linguistics_term", "task");
}

struct FigureOptions {
  /// Name of a recipe; empty: the first one for the metric that has data to show.
  std::string kind = {};
  std::vector<std::string> site = {};   ///< empty: all
  std::vector<std::string> label = {};  ///< models; empty: all
  /// For a panel per layer, from layer_base on; empty: all, or an evenly spaced subset.
  std::vector<int> layer = {};
  std::vector<int> head = {};             ///< of attention; empty: all
  std::vector<std::string> measure = {};  ///< of geometry, similarity, comparison; empty: default
  std::vector<std::string> router = {};   ///< of counterfactual; empty: all
  /// Weighting of router heatmaps: none (|R|), keys, values (|R| times the root mean square of the
  /// weighted activations), or a difference as in "keys - none". Empty: those of the first three
  /// that exist in the mean map, none in the maps per head.
  std::vector<std::string> weighting = {};
  std::optional<BlimpGroups> by = {};  ///< unset: depends on the figure
  TrainingAxis over = TrainingAxis::kSteps;
  int layer_base = 0;                 ///< index of the first layer and head: 0 or 1, as in papers
  std::vector<double> x_limits = {};  ///< two numbers
  std::vector<double> y_limits = {};
  bool log_x = false;
  bool log_y = false;
  int columns = 0;  ///< panels per row; 0: automatic
  bool mixed_texts = false;

  void describe(OptionList& list);
  void validate() const;
};

/// Returns the single measure that `kind` shows: the requested one, else `usual`.
/// @param known  those that exist; empty: any. @throws InvalidArgument  if several are requested.
std::string one_measure(const FigureOptions& options, const std::string& kind,
                        const std::string& usual, const std::vector<std::string>& known = {});

/// Sets the limits and logarithmic scales of all panels; the note reports omitted points.
/// @throws InvalidArgument  if a panel has no such axes, or a logarithmic one no value above 0.
void apply_axis_options(Figure& figure, const FigureOptions& options);

}  // namespace lime
