// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/errors.h"
#include "viz/figure.h"
#include "viz/figure_source.h"
#include "viz/recipes/figure_options.h"

// A recipe turns results into the plain description of a figure. A new figure is one file with its
// function, and its line in all_recipes().

namespace lime {

struct Recipe {
  std::string name;                  ///< what --kind takes
  std::vector<std::string> metrics;  ///< of results that it shows
  std::string help;                  ///< what it shows
  /// Of FigureOptions those that it reads beside what every figure has.
  std::vector<std::string> options;
  std::function<Figure(std::span<const FigureSource>, const FigureOptions&)> make;
};

/// All figures there are.
const std::vector<Recipe>& all_recipes();
/// What of `options` `recipe` reads; the rest is as by default.
FigureOptions options_read_by(const Recipe& recipe, const FigureOptions& options);
/// The options that differ from the default and that `recipe` does not read.
std::vector<std::string> options_unread_by(const Recipe& recipe, const FigureOptions& options);

/// Those that show results of `metric`, the usual one first.
std::vector<const Recipe*> recipes_of(std::string_view metric);

/// The results hold nothing of what the figure shows, though they are of its metric.
class NothingToShow : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

/// The figure that `options` ask for.
/// @throws InvalidArgument  if no recipe fits the results (says which do), files are of different
///                          metrics or of different texts, a site or label is missing, there is
///                          no row, or the recipe does not read an option that differs from the
///                          default; NothingToShow where rows of the needed kind are missing.
Figure make_figure(std::span<const FigureSource> sources, const FigureOptions& options);

}  // namespace lime
