// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/options.h"
#include "store/results_file.h"
#include "viz/figure.h"

// A recipe turns results into the plain description of a figure. A new figure is one file with its
// function, and its line in all_recipes().

namespace lime {

/// A file that a figure is made of.
struct FigureSource {
  std::filesystem::path path;
  Results results;
};

/// What of the results a figure shows.
struct FigureOptions {
  std::string kind = {};  ///< name of a recipe; empty: the first that fits the results' metric
  std::vector<std::string> site = {};   ///< empty: all
  std::vector<std::string> label = {};  ///< models; empty: all
  std::vector<int> layer = {};  ///< of figures with a panel per layer; empty: all, or some evenly
  int layer_base = 0;           ///< number of the first layer on axes: 0 or 1, as in papers
  std::vector<double> x_limits = {};  ///< two numbers
  std::vector<double> y_limits = {};
  int columns = 0;  ///< panels side by side; 0: chosen

  void describe(OptionList& list);
  /// @throws InvalidArgument
  void validate() const;
};

struct Recipe {
  std::string name;    ///< what --kind takes
  std::string metric;  ///< of the results that it needs
  std::string help;    ///< what it shows
  std::function<Figure(std::span<const FigureSource>, const FigureOptions&)> make;
};

/// All figures there are.
const std::vector<Recipe>& all_recipes();

/// The figure that `options` ask for.
/// @throws InvalidArgument  if no recipe fits the results (says which do), files are of different
///                          metrics or of different texts, a site or label is missing, or there is
///                          no row.
Figure make_figure(std::span<const FigureSource> sources, const FigureOptions& options);

// For recipes.

/// A row with the file that it comes from.
struct FigureRow {
  const Json* row = nullptr;
  std::size_t source = 0;

  std::string text(const std::string& key) const;  ///< "" if absent
  bool has(const std::string& key) const;
  /// NaN if absent or null.
  double number(const std::string& key) const;
};

/// Rows of all sources, of the sites and labels asked for. @throws InvalidArgument if none is left.
std::vector<FigureRow> rows_of(std::span<const FigureSource> sources, const FigureOptions& options);

/// The different texts under `key`, in the order of their first appearance.
std::vector<std::string> distinct(const std::vector<FigureRow>& rows, const std::string& key);

/// Number of columns for `panels` panels: `wanted`, or as many as make the grid near 3 wide.
int columns_for(std::size_t panels, int wanted);

}  // namespace lime
