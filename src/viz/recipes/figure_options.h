// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.h"

namespace lime {

/// Horizontal axis of a loss curve.
enum class TrainingAxis { kSteps, kTokens, kFlops };

template <>
struct EnumNames<TrainingAxis> {
  static constexpr std::array<std::pair<TrainingAxis, std::string_view>, 3> kNames = {
      {{TrainingAxis::kSteps, "steps"},
       {TrainingAxis::kTokens, "tokens"},
       {TrainingAxis::kFlops, "flops"}}};
};

/// Groups of a BLiMP figure.
enum class BlimpGroups { kAll, kField, kLinguisticsTerm, kTask };

template <>
struct EnumNames<BlimpGroups> {
  static constexpr std::array<std::pair<BlimpGroups, std::string_view>, 4> kNames = {
      {{BlimpGroups::kAll, "all"},
       {BlimpGroups::kField, "field"},
       {BlimpGroups::kLinguisticsTerm, "linguistics_term"},
       {BlimpGroups::kTask, "task"}}};
};

/// Selection of the results that a figure shows.
struct FigureOptions {
  /// Name of a recipe; empty: the first one for the metric that has data to show.
  std::string kind = {};
  std::vector<std::string> site = {};   ///< empty: all
  std::vector<std::string> label = {};  ///< models; empty: all
  /// For figures with a panel per layer, from layer_base on; empty: all, or an evenly spaced
  /// subset.
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
  int layer_base = 0;                 ///< index of the first layer on axes: 0 or 1, as in papers
  std::vector<double> x_limits = {};  ///< two numbers
  std::vector<double> y_limits = {};
  bool log_x = false;
  bool log_y = false;
  int columns = 0;  ///< panels per row; 0: automatic
  /// Allows results of different texts in one figure.
  bool mixed_texts = false;

  void describe(OptionList& list);
  /// @throws InvalidArgument
  void validate() const;
};

/// Returns the single measure that `kind` shows: the requested one, else `usual`.
/// @throws InvalidArgument  if several are requested.
std::string one_measure(const FigureOptions& options, const std::string& kind,
                        const std::string& usual);

}  // namespace lime
