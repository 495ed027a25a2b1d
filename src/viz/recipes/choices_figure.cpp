// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "viz/figure.h"
#include "viz/recipes/figure_row.h"
#include "viz/recipes/layer_curves.h"
#include "viz/recipes/measures.h"
#include "viz/recipes/recipe.h"

namespace lime {
namespace {

constexpr const char* kMean = "mean over tasks";

std::string axis_name(const std::string& measure) {
  return measure == "acc" ? "accuracy" : measure_name(measure);
}

/// A group of bars per task, a bar per series, with the interval and stars for small p-values.
/// @param series_of  name of a row's series
FigurePanel task_bars(const FigureRows& rows, const Column& task, const Column& value,
                      FigureAxis axis, std::string (*series_of)(const FigureRow&)) {
  BarPanel bars;
  std::vector<std::string> names;
  for (const FigureRow& row : rows) {
    const std::string name = series_of(row);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  bars.groups = distinct(rows, task);
  for (std::size_t s = 0; s < names.size(); ++s) {
    BarPanel::Series series{names[s], {}, {}, {}, model_style(s)};
    for (const std::string& group : bars.groups) {
      const auto own = std::find_if(rows.begin(), rows.end(), [&](const FigureRow& row) {
        return row.text(task) == group && series_of(row) == names[s];
      });
      const auto number = [&](const Column& column) {
        return own == rows.end() ? std::numeric_limits<double>::quiet_NaN() : own->number(column);
      };
      series.values.push_back(number(value));
      series.low.push_back(number(col::kCiLow));
      series.high.push_back(number(col::kCiHigh));
      const bool is_tested = own != rows.end() && own->has(col::kP);
      series.stars.push_back(is_tested ? stars_of_p(own->number(col::kP)) : "");
    }
    bars.series.push_back(std::move(series));
  }
  bars.lines_per_group = usual_lines_per_group(bars.groups.size(), names.size());
  std::replace(bars.groups.begin(), bars.groups.end(), std::string("all"), std::string(kMean));
  return {.title = "", .x = std::move(axis), .y = {}, .content = std::move(bars)};
}

}  // namespace

Figure choices_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows all = rows_of(sources, options);
  const std::string measure = options.measure.empty() ? "acc" : options.measure.front();
  const FigureRows means = rows_where(all, [&](const FigureRow& row) {
    return !row.has(col::kKind) && !row.has(col::kLayer) && row.text(col::kMeasure) == measure;
  });
  if (means.empty()) {
    throw InvalidArgument("measure: the results contain no '{}' (they contain: {})", measure,
                          fmt::join(distinct(all, col::kMeasure), ", "));
  }
  Figure figure;
  figure.is_wide = true;
  figure.panels = {task_bars(means, col::kName, col::kMean, {.label = axis_name(measure)},
                             [](const FigureRow& row) { return row.text(col::kLabel); })};
  figure.note = intervals_note(figure, sources);
  const FigureRows differences =
      rows_with(all, {{col::kKind, "comparison"}, {col::kQuantity, measure}});
  if (differences.empty()) return figure;
  figure.panels.push_back(task_bars(
      differences, col::kTask, col::kDifference,
      {.label = fmt::format("\xCE\x94 {}, paired", axis_name(measure))}, [](const FigureRow& row) {
        return fmt::format("{} \xE2\x88\x92 {}", row.text(col::kLabel), row.text(col::kBaseline));
      }));
  // A difference has the colour of the model that is compared with the first one.
  auto& bars = std::get<BarPanel>(figure.panels.back().content).series;
  for (std::size_t s = 0; s < bars.size(); ++s) bars[s].style = model_style(s + 1);
  figure.columns = 2;
  add_note(figure, "sign-flip test: * p < 0.05, ** p < 0.01, *** p < 0.001");
  return figure;
}

Figure choices_layers_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_where(rows_of(sources, options), [](const FigureRow& row) {
    const bool is_accuracy = row.text(col::kMeasure) == "acc" || row.text(col::kMeasure) == "probe";
    return is_accuracy && row.has(col::kLayer) && !row.has(col::kKind);
  });
  if (rows.empty()) {
    throw NothingToShow(
        "figure: the results contain no layers; evaluate with lime-eval --layers all");
  }
  Figure figure;
  for (const std::string& task : distinct(rows, col::kName)) {
    const FigureRows own = rows_with(rows, {{col::kName, task}});
    CurvePanel curves;
    for (const auto& [label, measure] : distinct_texts(own, col::kLabel, col::kMeasure)) {
      const std::string reader = measure == "acc" ? "logit lens" : "probe";
      curves.curves.push_back(layer_curve(
          rows_with(own, {{col::kLabel, label}, {col::kMeasure, measure}}), {}, options.layer_base,
          label + ", " + reader, model_style(curves.curves.size())));
    }
    figure.panels.push_back({.title = task == "all" ? kMean : task,
                             .x = {.label = "layer", .whole_numbers = true},
                             .y = {.label = "accuracy"},
                             .content = std::move(curves)});
  }
  lay_out(figure, options, 0, 3);
  figure.note = intervals_note(figure, sources);
  return figure;
}

}  // namespace lime
