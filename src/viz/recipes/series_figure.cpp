// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "viz/recipes/layer_curves.h"
#include "viz/recipes/measures.h"
#include "viz/recipes/recipe.h"

namespace lime {
namespace {

constexpr std::size_t kMostCurves = 8;  // more curves in a panel cannot be told apart
constexpr const char* kDrift = "drift";

/// Returns the curve of one layer over the steps.
Curve step_curve(const FigureRows& rows) {
  std::map<double, const FigureRow*> by_step;
  for (const FigureRow& row : rows) by_step.emplace(row.number(col::kStep), &row);
  Curve curve;
  curve.spread = Curve::Spread::kBand;
  for (const auto& [step, row] : by_step) {
    curve.x.push_back(step);
    curve.y.push_back(row->number(col::kMean));
    curve.low.push_back(row->number(col::kCiLow));
    curve.high.push_back(row->number(col::kCiHigh));
  }
  if (!std::ranges::all_of(curve.low, [](double low) { return std::isfinite(low); })) {
    curve.spread = Curve::Spread::kNone;
    curve.low.clear();
    curve.high.clear();
  }
  return curve;
}

}  // namespace

Figure series_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_with(rows_of(sources, options), {{col::kKind, ""}});
  std::set<int> there;
  for (const FigureRow& row : rows) {
    if (row.has(col::kLayer)) there.insert(row.index(col::kLayer, kMostLayers));
  }
  const std::vector<int> layers = layers_to_draw(options, there, kMostCurves);
  std::vector<std::string> measures = distinct(rows, col::kMeasure);
  if (options.measure.empty()) {
    // Of the measures of the drift, one.
    const std::vector<std::string> drift =
        distinct(rows_with(rows, {{col::kQuantity, kDrift}}), col::kMeasure);
    std::erase_if(measures, [&](const std::string& measure) {
      return contains(drift, measure) &&
             measure != (contains(drift, "cka_debiased") ? "cka_debiased" : drift.front());
    });
  }
  measures = selected_measures(measures, options.measure);
  const bool has_labels = distinct(rows, col::kLabel).size() > 1;
  const std::vector<std::string> sites = sites_of(rows);
  Figure figure;
  for (const auto& [measure, reference, site, label] :
       distinct_texts(rows, col::kMeasure, col::kReference, col::kSite, col::kLabel)) {
    if (!contains(measures, measure)) continue;
    const FigureRows own = rows_with(rows, {{col::kMeasure, measure},
                                            {col::kReference, reference},
                                            {col::kSite, site},
                                            {col::kLabel, label}});
    CurvePanel curves;
    for (std::size_t i = 0; i <= layers.size(); ++i) {
      const bool has_layer = i < layers.size();
      const int layer = has_layer ? layers[i] : -1;
      const FigureRows part = rows_where(own, [&](const FigureRow& row) {
        return row.has(col::kLayer) ? row.number(col::kLayer) == layer : !has_layer;
      });
      if (part.empty()) continue;
      Curve& curve = curves.curves.emplace_back(step_curve(part));
      curve.label = has_layer ? fmt::format("layer {}", layer + options.layer_base) : "model";
      curve.style = model_style(i);
      if (curve.x.size() > 20) curve.style.marker = MarkerShape::kNone;
    }
    if (curves.curves.empty()) continue;
    const std::string to = reference.empty() ? "" : fmt::format("to the {} step", reference);
    figure.panels.push_back(
        {.title = joined_parts({has_labels ? label : "", sites.size() > 1 ? site : "", to}),
         .x = {.label = "step"},
         .y = {.label = measure_name(measure)},
         .content = std::move(curves)});
  }
  if (figure.panels.empty()) throw NothingToShow("figure: no row contains a measurement of a step");
  lay_out(figure, options, 0, 2);
  figure.note = site_note(sites);
  add_note(figure, intervals_note(figure, sources));
  return figure;
}

}  // namespace lime
