// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/probe_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "explorer/probes/task_table.h"
#include "store/results/columns.h"

namespace lime::explorer {
namespace {

/// Returns the number of layers of a model's accuracies.
std::size_t numLayers(const FigureSource& source) {
  std::set<std::int64_t> layers;
  for (const ResultRow& row : source.results.rows) layers.insert(row.integer(col::kLayer));
  return layers.size();
}

/// Draws the figure of all sources, with a panel for each depth: experiments of models of 4 and 6
/// layers do not share an axis.
FigureOrMessage joinedFigure(const std::vector<FigureSource>& sources,
                             const FigureOptions& options) {
  std::map<std::size_t, std::vector<FigureSource>> by_depth;
  for (const FigureSource& source : sources) by_depth[numLayers(source)].push_back(source);
  if (by_depth.size() < 2) return figureOrMessage(sources, options);
  FigureOrMessage joined;
  for (const auto& [depth, own] : by_depth) {
    FigureOrMessage part = figureOrMessage(own, options);
    if (!part.figure) {
      if (joined.message.isEmpty()) joined.message = part.message;
      continue;
    }
    for (FigurePanel& panel : part.figure->panels) {
      panel.title =
          fmt::format("{}{} layers", panel.title.empty() ? "" : panel.title + ", ", depth);
    }
    if (!joined.figure) {
      joined.figure = std::move(part.figure);
      continue;
    }
    std::ranges::move(part.figure->panels, std::back_inserter(joined.figure->panels));
  }
  if (joined.figure) {
    joined.message.clear();
    joined.figure->columns = static_cast<int>(joined.figure->panels.size());
    joined.figure->is_wide = true;
  }
  return joined;
}

}  // namespace

FigureOrMessage probeCurves(std::span<const FigureSource> sources, const std::string& site,
                            const std::string& task, int layer_base) {
  FigureOptions options;
  options.site = {site};
  options.layer_base = layer_base;
  options.mixed_texts = true;
  std::vector<FigureSource> drawn;
  for (const FigureSource& source : sources) {
    FigureSource& part = drawn.emplace_back(source);
    std::erase_if(part.results.rows, [&](const ResultRow& row) {
      return row.text(col::kSite) != site || (!task.empty() && row.text(col::kTask) != task);
    });
    if (part.results.rows.empty()) drawn.pop_back();
  }
  if (!task.empty()) options.by = BlimpGroups::kTask;
  FigureOrMessage figure_or_message = joinedFigure(drawn, options);
  if (figure_or_message.figure && !task.empty() && figure_or_message.figure->panels.size() == 1) {
    figure_or_message.figure->panels.front().title = taskTitle(task).toStdString();
  }
  return figure_or_message;
}

}  // namespace lime::explorer
