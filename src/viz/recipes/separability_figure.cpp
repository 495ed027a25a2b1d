// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "viz/figure_columns.h"
#include "viz/recipes/figure_row.h"
#include "viz/recipes/layer_curves.h"
#include "viz/recipes/recipes.h"

namespace lime {
namespace {

constexpr std::array kControlPatterns = {LinePattern::kDotted, LinePattern::kDashDotted,
                                         LinePattern::kDashed};

/// Returns the legend text of a control.
std::string control_name(const std::string& labels) {
  if (labels == "shuffled") return "shuffled labels";
  if (labels == "token") return "random label per token";
  if (labels == "sequence") return "random label per sequence";
  return labels == "random-features" ? "random features" : labels;
}

/// Returns the controls of one panel: a line without markers for each model and control, in the
/// model's colour; the legend has one entry per control.
std::vector<Curve> control_curves(const std::vector<FigureRow>& rows,
                                  const std::vector<std::string>& labels,
                                  const std::vector<std::string>& controls, int layer_base) {
  std::vector<Curve> curves;
  for (std::size_t c = 0; c < controls.size(); ++c) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::vector<FigureRow> own =
          rows_with(rows, {{col::kLabels, controls[c]}, {col::kLabel, labels[i]}});
      if (own.empty()) continue;
      LayerCurves columns;
      columns.low = {};
      Curve curve = layer_curve(own, columns, layer_base);
      curve.label = fmt::format("{}, {}", labels[i], control_name(controls[c]));
      curve.legend = control_name(controls[c]);
      curve.style = {i, kControlPatterns[c % kControlPatterns.size()], MarkerShape::kNone, true};
      curves.push_back(std::move(curve));
    }
  }
  return curves;
}

FigurePanel accuracy_panel(const std::vector<FigureRow>& rows,
                           const std::vector<std::string>& labels,
                           const std::vector<std::string>& controls, const FigureOptions& options) {
  LayerCurves columns;
  columns.deviation = col::kStd;
  columns.spread = Curve::Spread::kBars;
  columns.ceiling = col::kMajority;
  columns.ceiling_label = "majority baseline";
  columns.ceiling_in_legend = true;
  columns.y_label = "probe accuracy";
  const std::vector<FigureRow> words = rows_with(rows, {{col::kLabels, "words"}});
  FigurePanel panel = layer_panel(words, columns, labels, options);
  auto& curves = std::get<CurvePanel>(panel.content).curves;
  std::vector<Curve> drawn = control_curves(rows, labels, controls, options.layer_base);
  // Last, so that the legend begins with the models.
  curves.insert(curves.end(), std::make_move_iterator(drawn.begin()),
                std::make_move_iterator(drawn.end()));
  return panel;
}

}  // namespace

Figure separability_figure(std::span<const FigureSource> sources, const FigureOptions& options) {
  const std::vector<FigureRow> rows = rows_with(rows_of(sources, options), {{col::kKind, ""}});
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  const std::vector<std::string> sites = sites_of(rows);
  const std::vector<std::string> methods = distinct(rows, col::kMethod);
  std::vector<std::string> controls = distinct(rows, col::kLabels);
  std::erase(controls, "words");
  Figure figure;
  for (const std::string& method : methods) {
    for (const std::string& site : sites) {
      const std::vector<FigureRow> of_site = rows_with(rows, {{col::kSite, site}});
      const std::vector<FigureRow> part = rows_with(of_site, {{col::kMethod, method}});
      figure.panels.push_back(accuracy_panel(part, labels, controls, options));
      // Only some methods store it, but all classify the same rows.
      std::get<CurvePanel>(figure.panels.back().content).references =
          std::get<CurvePanel>(accuracy_panel(of_site, {}, {}, options).content).references;
      figure.panels.back().title =
          joined_parts({sites.size() > 1 ? site : "", methods.size() > 1 ? method : ""});
    }
  }
  if (figure.panels.empty()) throw NothingToShow("figure: no row contains a probe accuracy");
  figure.note = site_note(sites);
  add_note(figure, "bars: standard deviation over folds");
  figure.shares_y = true;
  figure.columns = columns_for(figure.panels.size(), options.columns);
  figure.is_wide = figure.columns >= 2;
  return figure;
}

}  // namespace lime
