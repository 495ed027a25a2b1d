// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/options.h"
#include "viz/figure.h"
#include "viz/figure_source.h"

// A recipe turns results into the plain description of a figure. A new figure is one file with its
// function, and its line in all_recipes().

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

// For recipes.

/// A row with the file that it comes from.
struct FigureRow {
  const Json* row = nullptr;
  std::size_t source = 0;
  const std::filesystem::path* file = nullptr;

  std::string text(const std::string& key) const;  ///< "" if absent
  bool has(const std::string& key) const;
  /// NaN if absent or null. @throws FormatError  if it is no number; names file and key.
  double number(const std::string& key) const;
  /// Whether there is a whole number in [0, limit).
  bool has_index(const std::string& key, int limit) const;
  /// The whole number in [0, limit) that numbers a layer, head or token.
  /// @throws FormatError  if there is none; names file and key.
  int index(const std::string& key, int limit) const;
};

/// A map of `rows` x `cols` cells, all of them NaN, which are filled from `own`.
/// @throws FormatError  before anything is allocated, if so few rows cannot be those of such a map.
MatrixD empty_map(const std::vector<FigureRow>& own, int rows, int cols);

/// One more than the largest index under `key`; 1 if there is no row. @throws FormatError
int count_of(const std::vector<FigureRow>& rows, const std::string& key, int limit);

/// Rows of all sources, of the sites and labels asked for. @throws InvalidArgument if none is left.
std::vector<FigureRow> rows_of(std::span<const FigureSource> sources, const FigureOptions& options);

/// Rows of which `keep` is true.
std::vector<FigureRow> rows_where(const std::vector<FigureRow>& rows,
                                  const std::function<bool(const FigureRow&)>& keep);

/// The different texts under `key`, in the order of their first appearance.
std::vector<std::string> distinct(const std::vector<FigureRow>& rows, const std::string& key);

/// The layers asked for as files number them, from 0; `options` number them as axes do.
/// @param there  the layers of the results, from 0. @throws InvalidArgument  if one is not there.
std::vector<int> layers_asked_for(const FigureOptions& options, const std::set<int>& there);

/// Rows of the layers asked for; all if none are.
std::vector<FigureRow> rows_of_layers(const std::vector<FigureRow>& rows,
                                      const FigureOptions& options);

/// The one measure that `kind` shows: the one asked for, else `usual`.
/// @throws InvalidArgument  if several are asked for.
std::string one_measure(const FigureOptions& options, const std::string& kind,
                        const std::string& usual);

/// Number of columns for `panels` panels: `wanted`, or as many as make the grid near 3 wide.
int columns_for(std::size_t panels, int wanted);

}  // namespace lime
