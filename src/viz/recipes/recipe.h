// SPDX-License-Identifier: Apache-2.0
#pragma once

// A recipe converts results to the description of a figure. all_recipes() lists them.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/errors.h"
#include "core/options.h"
#include "viz/figure.h"
#include "viz/figure_source.h"

namespace lime {

enum class TrainingAxis { kSteps, kTokens, kFlops };

constexpr auto names_of(TrainingAxis) {
  using enum TrainingAxis;
  return enum_table<TrainingAxis>({{kSteps, "steps"}, {kTokens, "tokens"}, {kFlops, "flops"}});
}

enum class BlimpGroups { kAll, kField, kLinguisticsTerm, kTask };

constexpr auto names_of(BlimpGroups) {
  using enum BlimpGroups;
  return enum_table<BlimpGroups>(
      {{kAll, "all"}, {kField, "field"}, {kLinguisticsTerm, "linguistics_term"}, {kTask, "task"}});
}

struct FigureOptions {
  std::string kind = {};               ///< name of a recipe; empty: the first one with data to show
  std::vector<std::string> site = {};  ///< empty: all
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
  /// Colours of the models in the order of the legend, from 1; empty: 1, 2, 3, ...
  std::vector<int> colors = {};
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

struct Recipe {
  std::string name;                  ///< value of --kind
  std::vector<std::string> metrics;  ///< metrics of results that it accepts
  std::string help;                  ///< description of the figure
  /// The FigureOptions that it uses in addition to the common ones.
  std::vector<std::string> options;
  std::function<Figure(FigureSources, const FigureOptions&)> make;
};

const std::vector<Recipe>& all_recipes();
/// Returns the `options` that `recipe` uses; the others have their defaults.
FigureOptions options_read_by(const Recipe& recipe, const FigureOptions& options);
/// Returns the options that differ from the default and that `recipe` does not use.
std::vector<std::string> options_unread_by(const Recipe& recipe, const FigureOptions& options);

/// Returns the recipes for results of `metric`, the default one first.
std::vector<const Recipe*> recipes_of(std::string_view metric);

/// Thrown if results have the right metric but no data for the figure.
class NothingToShow : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// Creates the figure specified by `options`.
/// @throws InvalidArgument  if no recipe accepts the results (lists those that do), files have
///         different metrics or different texts, a site or label is missing, there are no rows, or
///         a non-default option is not used by the recipe; NothingToShow if there are no such rows.
Figure make_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
