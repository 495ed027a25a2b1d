// SPDX-License-Identifier: Apache-2.0
#include "drawn_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/errors.h"
#include "core/options.h"
#include "core/program/command_help.h"
#include "figure_job.h"
#include "store/file_names.h"
#include "viz/recipes/figure_row.h"

namespace lime {
namespace {

std::optional<Figure> figure_if_any(const FigureJob& job) {
  try {
    return make_figure(job.sources, job.figure);
  } catch (const NothingToShow&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<SourceGroup> group_sources(std::vector<FigureSource> sources) {
  std::map<std::string, int> count;
  for (const FigureSource& source : sources) ++count[source.results.metric];
  std::vector<SourceGroup> groups;
  SourceGroup training;
  for (FigureSource& source : sources) {
    if (source.results.metric == "training") {
      training.sources.push_back(std::move(source));
      continue;
    }
    const bool is_alone = count[source.results.metric] == 1;
    const std::string suffix = is_alone ? "" : "-" + results_stem(source.path);
    groups.push_back({{std::move(source)}, suffix});
  }
  if (!training.sources.empty()) groups.push_back(std::move(training));
  return groups;
}

void check_figure_options(const std::vector<SourceGroup>& groups, const FigureOptions& options) {
  for (const std::string& option : options_unread_by({}, options)) {
    const auto reads = [&](const Recipe* recipe) { return contains(recipe->options, option); };
    const bool is_read = std::ranges::any_of(groups, [&](const SourceGroup& group) {
      const auto recipes = recipes_of(group.sources.front().results.metric);
      return std::ranges::any_of(recipes, reads);
    });
    if (!is_read)
      throw InvalidArgument("figure: no figure of these files accepts {}", option_name(option));
  }
}

int for_each_figure(const std::vector<SourceGroup>& groups, const FigureOptions& options,
                    const FigureStyle& style, const DrawnFigureFn& use) {
  int drawn = 0;
  for (const SourceGroup& group : groups) {
    FigureJob job{group.sources, options, style};
    const std::string& metric = group.sources.front().results.metric;
    for (const Recipe* const recipe : recipes_of(metric)) {
      job.figure = options_read_by(*recipe, options);
      job.figure.kind = recipe->name;
      const std::optional<Figure> figure = figure_if_any(job);
      if (!figure) continue;
      ++drawn;
      const std::string name =
          recipe->metrics.size() == 1 ? recipe->name : fmt::format("{}-{}", recipe->name, metric);
      use(DrawnFigure{*recipe, name + group.suffix, *figure, provenance_of(job)});
    }
  }
  if (drawn > 0) return drawn;
  throw InvalidArgument(
      "figure: no figure shows the contents of the {} files; see lime-figure --list",
      groups.size());
}

}  // namespace lime
