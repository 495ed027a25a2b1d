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

/// What a loss curve runs over.
enum class TrainingAxis { kSteps, kTokens, kFlops };

template <>
struct EnumNames<TrainingAxis> {
  static constexpr std::array<std::pair<TrainingAxis, std::string_view>, 3> kNames = {
      {{TrainingAxis::kSteps, "steps"},
       {TrainingAxis::kTokens, "tokens"},
       {TrainingAxis::kFlops, "flops"}}};
};

/// What a BLiMP figure is broken down by.
enum class BlimpGroups { kAll, kField, kLinguisticsTerm, kTask };

template <>
struct EnumNames<BlimpGroups> {
  static constexpr std::array<std::pair<BlimpGroups, std::string_view>, 4> kNames = {
      {{BlimpGroups::kAll, "all"},
       {BlimpGroups::kField, "field"},
       {BlimpGroups::kLinguisticsTerm, "linguistics_term"},
       {BlimpGroups::kTask, "task"}}};
};

/// What of the results a figure shows.
struct FigureOptions {
  /// Name of a recipe; empty: the first of the results' metric that has something to show.
  std::string kind = {};
  std::vector<std::string> site = {};   ///< empty: all
  std::vector<std::string> label = {};  ///< models; empty: all
  /// Of figures with a panel per layer, from layer_base on; empty: all, or some evenly.
  std::vector<int> layer = {};
  std::vector<int> head = {};             ///< of attention; empty: all
  std::vector<std::string> measure = {};  ///< of geometry, similarity, comparison; empty: chosen
  std::vector<std::string> router = {};   ///< of counterfactual; empty: all
  /// Of router maps: none (|R|), keys, values (|R| times the root mean square of what it weighs),
  /// or a difference as in "keys - none". Empty: all of the first three that there are in the mean
  /// map, none in the maps per head.
  std::vector<std::string> weighting = {};
  std::optional<BlimpGroups> by = {};  ///< unset: what fits the figure
  TrainingAxis over = TrainingAxis::kSteps;
  int layer_base = 0;                 ///< number of the first layer on axes: 0 or 1, as in papers
  std::vector<double> x_limits = {};  ///< two numbers
  std::vector<double> y_limits = {};
  bool log_x = false;
  bool log_y = false;
  int columns = 0;  ///< panels side by side; 0: chosen
  /// Draws results of different texts in one figure, which is refused otherwise.
  bool mixed_texts = false;

  void describe(OptionList& list);
  /// @throws InvalidArgument
  void validate() const;
};

/// The one measure that `kind` shows: the one asked for, else `usual`.
/// @throws InvalidArgument  if several are asked for.
std::string one_measure(const FigureOptions& options, const std::string& kind,
                        const std::string& usual);

}  // namespace lime
