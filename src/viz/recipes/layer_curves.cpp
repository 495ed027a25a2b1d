// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/layer_curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/errors.h"

namespace lime {
namespace {

constexpr std::array kMarkers = {MarkerShape::kDisc, MarkerShape::kSquare, MarkerShape::kTriangle,
                                 MarkerShape::kDiamond};
constexpr std::array kPatterns = {LinePattern::kSolid, LinePattern::kDashed,
                                  LinePattern::kDashDotted, LinePattern::kDotted};

/// Ends of the band of one row.
std::pair<double, double> spread_of(const FigureRow& row, const LayerCurves& columns) {
  if (columns.deviation.empty()) return {row.number(columns.low), row.number(columns.high)};
  const double value = row.number(columns.value);
  const double deviation = row.number(columns.deviation);
  return {value - deviation, value + deviation};
}

Curve curve_of(const std::vector<FigureRow>& rows, const LayerCurves& columns, int layer_base) {
  std::map<int, const FigureRow*> by_layer;
  for (const FigureRow& row : rows) {
    const auto layer = static_cast<int>(row.number("layer"));
    if (!by_layer.emplace(layer, &row).second) {
      throw InvalidArgument(
          "figure: layer {} of {} comes twice; choose what to show with --site or "
          "--label",
          layer, row.text("label"));
    }
  }
  Curve curve;
  curve.spread = columns.spread;
  int next = by_layer.begin()->first;
  for (const auto& [layer, row] : by_layer) {
    const auto add = [&](double x, double y, std::pair<double, double> ends) {
      curve.x.push_back(x);
      curve.y.push_back(y);
      curve.low.push_back(ends.first);
      curve.high.push_back(ends.second);
    };
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    if (layer > next) add(next + layer_base, kNone, {kNone, kNone});
    add(layer + layer_base, row->number(columns.value), spread_of(*row, columns));
    next = layer + 1;
  }
  const bool has_spread = std::all_of(curve.low.begin(), curve.low.end(), [&](double value) {
    return std::isfinite(value) || curve.y[static_cast<std::size_t>(&value - curve.low.data())] !=
                                       curve.y[static_cast<std::size_t>(&value - curve.low.data())];
  });
  if (!has_spread || (columns.low.empty() && columns.deviation.empty())) {
    curve.spread = Curve::Spread::kNone;
    curve.low.clear();
    curve.high.clear();
  }
  return curve;
}

/// The bounds of a panel's rows, where they agree within each model; one line if all do.
std::vector<ReferenceLine> references_of(const std::vector<FigureRow>& rows,
                                         const LayerCurves& columns) {
  if (columns.ceiling.empty()) return {};
  std::vector<double> seen;
  for (const FigureRow& row : rows) {
    const double value = row.number(columns.ceiling);
    if (!std::isfinite(value)) continue;
    const bool known = std::any_of(seen.begin(), seen.end(),
                                   [&](double other) { return std::abs(other - value) < 1e-9; });
    if (!known) seen.push_back(value);
  }
  if (seen.empty() || seen.size() > 3) return {};
  std::vector<ReferenceLine> lines;
  for (const double value : seen) lines.push_back({value, columns.ceiling_label});
  return lines;
}

}  // namespace

Figure layer_curves(const std::vector<FigureRow>& rows, const LayerCurves& columns,
                    const FigureOptions& options) {
  Figure figure;
  const std::vector<std::string> labels = distinct(rows, "label");
  std::vector<std::string> sites = distinct(rows, "site");
  if (sites.empty()) sites.emplace_back();
  for (const std::string& site : sites) {
    FigurePanel panel;
    panel.title = sites.size() > 1 ? site : "";
    panel.x = {.label = "layer", .whole_numbers = true};
    panel.y = {.label = columns.y_label};
    CurvePanel curves;
    std::vector<FigureRow> of_site;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(of_site), [&](const FigureRow& row) {
      return row.text("site") == site && row.has("layer") && row.has(columns.value);
    });
    for (std::size_t i = 0; i < labels.size(); ++i) {
      std::vector<FigureRow> of_model;
      std::copy_if(of_site.begin(), of_site.end(), std::back_inserter(of_model),
                   [&](const FigureRow& row) { return row.text("label") == labels[i]; });
      if (of_model.empty()) continue;
      Curve curve = curve_of(of_model, columns, options.layer_base);
      curve.label = labels[i];
      curve.look = {i, kPatterns[i / 7 % kPatterns.size()], kMarkers[i % kMarkers.size()]};
      // Many layers leave no room for markers.
      if (curve.x.size() > 40) curve.look.marker = MarkerShape::kNone;
      curves.curves.push_back(std::move(curve));
    }
    curves.references = references_of(of_site, columns);
    panel.content = std::move(curves);
    figure.panels.push_back(std::move(panel));
  }
  figure.columns = columns_for(figure.panels.size(), options.columns);
  return figure;
}

}  // namespace lime
