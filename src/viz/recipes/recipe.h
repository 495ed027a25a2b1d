// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/errors.h"
#include "viz/figure.h"
#include "viz/figure_source.h"
#include "viz/recipes/figure_options.h"

// A recipe converts results to the description of a figure. all_recipes() lists them.

namespace lime {

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

// One function per figure; all_recipes() has their descriptions.

Figure entropy_figure(FigureSources sources, const FigureOptions& options);
Figure separability_figure(FigureSources sources, const FigureOptions& options);
Figure embedding_figure(FigureSources sources, const FigureOptions& options);
Figure geometry_figure(FigureSources sources, const FigureOptions& options);
Figure similarity_figure(FigureSources sources, const FigureOptions& options);
Figure router_mean_figure(FigureSources sources, const FigureOptions& options);
Figure router_heads_figure(FigureSources sources, const FigureOptions& options);
Figure router_signed_figure(FigureSources sources, const FigureOptions& options);
Figure router_sources_figure(FigureSources sources, const FigureOptions& options);
Figure counterfactual_figure(FigureSources sources, const FigureOptions& options);
Figure counterfactual_change_figure(FigureSources sources, const FigureOptions& options);
Figure counterfactual_gap_figure(FigureSources sources, const FigureOptions& options);
Figure blimp_figure(FigureSources sources, const FigureOptions& options);
Figure choices_figure(FigureSources sources, const FigureOptions& options);
/// Draws the accuracy of the logit lens and of probes over the layers, a panel per task.
Figure choices_layers_figure(FigureSources sources, const FigureOptions& options);
Figure blimp_table(FigureSources sources, const FigureOptions& options);
Figure tokens_figure(FigureSources sources, const FigureOptions& options);
Figure attention_figure(FigureSources sources, const FigureOptions& options);
Figure attention_heads_figure(FigureSources sources, const FigureOptions& options);
Figure attention_routed_figure(FigureSources sources, const FigureOptions& options);
Figure sweep_figure(FigureSources sources, const FigureOptions& options);
Figure series_figure(FigureSources sources, const FigureOptions& options);
Figure loss_figure(FigureSources sources, const FigureOptions& options);
Figure cost_table(FigureSources sources, const FigureOptions& options);
Figure comparison_figure(FigureSources sources, const FigureOptions& options);

}  // namespace lime
