// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/layer_curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace lime {
namespace {

constexpr double kUsualConfidence = 0.95;
constexpr std::array kMarkers = {MarkerShape::kDisc, MarkerShape::kSquare, MarkerShape::kTriangle,
                                 MarkerShape::kDiamond};
constexpr std::array kPatterns = {LinePattern::kSolid, LinePattern::kDashed,
                                  LinePattern::kDashDotted, LinePattern::kDotted};

std::pair<double, double> spread_of(const FigureRow& row, const LayerCurves& columns) {
  if (columns.deviation.is_none()) return {row.number(columns.low), row.number(columns.high)};
  const double value = row.number(columns.value);
  const double deviation = row.number(columns.deviation);
  return {value - deviation, value + deviation};
}

/// Returns the bounds of a panel's rows, if they agree within each model; one line if all do.
std::vector<ReferenceLine> references_of(const FigureRows& rows, const LayerCurves& columns) {
  if (columns.ceiling.is_none()) return {};
  std::vector<double> seen;
  for (const FigureRow& row : rows) {
    const double value = row.number(columns.ceiling);
    if (!std::isfinite(value)) continue;
    const bool known =
        std::ranges::any_of(seen, [&](double other) { return std::abs(other - value) < 1e-9; });
    if (!known) seen.push_back(value);
  }
  if (seen.empty() || seen.size() > 3) return {};
  std::vector<ReferenceLine> lines;
  for (const double value : seen) {
    lines.push_back({value, columns.ceiling_label, false, columns.ceiling_in_legend});
  }
  return lines;
}

bool is_spread_whole(const Curve& curve) {
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    const bool is_whole = std::isfinite(curve.low[i]) && std::isfinite(curve.high[i]);
    if (std::isfinite(curve.y[i]) && !is_whole) return false;
  }
  return true;
}

}  // namespace

SeriesStyle model_style(std::size_t index) {
  return {index, kPatterns[index / 7 % kPatterns.size()], kMarkers[index % kMarkers.size()]};
}

std::string intervals_note(const Figure& figure, FigureSources sources, const std::string& kind,
                           const std::string& intervals) {
  bool has_bands = false;
  bool has_bars = false;
  const auto see = [&](const Curve& curve) {
    const std::size_t lone = lone_points(curve).size();
    const auto points = static_cast<std::size_t>(
        std::ranges::count_if(curve.y, [](double value) { return std::isfinite(value); }));
    has_bands = has_bands || (curve.spread == Curve::Spread::kBand && lone < points);
    has_bars = has_bars || curve.spread == Curve::Spread::kBars || lone > 0;
  };
  for (const FigurePanel& panel : figure.panels) {
    if (const auto* const curves = std::get_if<CurvePanel>(&panel.content)) {
      for (const Curve& curve : curves->curves) see(curve);
    } else if (const auto* const bars = std::get_if<BarPanel>(&panel.content)) {
      for (const BarPanel::Series& series : bars->series) {
        has_bars = has_bars ||
                   std::ranges::any_of(series.low, [](double low) { return std::isfinite(low); });
      }
    }
  }
  if (!has_bands && !has_bars) return "";
  const char* const drawn = !has_bars ? "bands" : has_bands ? "bands and error bars" : "error bars";
  const double confidence = option_number(sources.front(), "confidence", kUsualConfidence);
  return fmt::format("{}: {}{:.6g} % {}", drawn, kind, 100.0 * confidence, intervals);
}

void lay_out(Figure& figure, const FigureOptions& options, int usual, int wide_from) {
  const int wanted = options.columns > 0 ? options.columns : usual;
  figure.columns = columns_for(figure.panels.size(), wanted);
  figure.is_wide = figure.columns >= wide_from;
}

void add_note(Figure& figure, const std::string& more) {
  if (!figure.note.empty() && !more.empty()) figure.note += "; ";
  figure.note += more;
}

std::vector<std::string> sites_of(const FigureRows& rows) {
  std::vector<std::string> sites = distinct(rows, col::kSite);
  if (sites.empty()) sites.emplace_back();
  return sites;
}

std::string site_note(const std::vector<std::string>& sites) {
  return sites.size() == 1 && !sites.front().empty() ? "site: " + sites.front() : "";
}

std::string joined_parts(std::vector<std::string> parts) {
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool has_spread(const FigurePanel& panel) {
  const auto* const curves = std::get_if<CurvePanel>(&panel.content);
  return curves != nullptr && std::ranges::any_of(curves->curves, [](const Curve& curve) {
           return curve.spread != Curve::Spread::kNone;
         });
}

Curve layer_curve(const FigureRows& rows, const LayerCurves& columns, int layer_base,
                  const std::string& label, const SeriesStyle& style) {
  std::map<int, const FigureRow*> by_layer;
  for (const FigureRow& row : rows) {
    const int layer = row.index(col::kLayer, kMostLayers);
    if (by_layer.emplace(layer, &row).second) continue;
    throw InvalidArgument("figure: layer {} of {} is duplicated; select one with --site or --label",
                          layer, row.text(col::kLabel));
  }
  Curve curve;
  curve.spread = columns.spread;
  const auto add = [&](double x, double y, std::pair<double, double> ends) {
    curve.x.push_back(x);
    curve.y.push_back(y);
    curve.low.push_back(ends.first);
    curve.high.push_back(ends.second);
  };
  int next = by_layer.empty() ? 0 : by_layer.begin()->first;
  for (const auto& [layer, row] : by_layer) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    if (layer > next) add(next + layer_base, kNone, {kNone, kNone});
    add(layer + layer_base, row->number(columns.value), spread_of(*row, columns));
    next = layer + 1;
  }
  if (!is_spread_whole(curve) || (columns.low.is_none() && columns.deviation.is_none())) {
    curve.spread = Curve::Spread::kNone;
    curve.low.clear();
    curve.high.clear();
  }
  // With one layer a band has no width.
  if (curve.x.size() == 1 && curve.spread == Curve::Spread::kBand) {
    curve.spread = Curve::Spread::kBars;
  }
  curve.label = label;
  curve.style = style;
  // With many layers there is no room for markers.
  if (curve.x.size() > 40) curve.style.marker = MarkerShape::kNone;
  return curve;
}

FigurePanel layer_panel(const FigureRows& rows, const LayerCurves& columns,
                        const std::vector<std::string>& labels, const FigureOptions& options) {
  FigurePanel panel;
  panel.x = {.label = "layer", .whole_numbers = true};
  panel.y = {.label = columns.y_label};
  const FigureRows drawn = rows_where(
      rows, [&](const FigureRow& row) { return row.has(col::kLayer) && row.has(columns.value); });
  CurvePanel curves;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const FigureRows of_model = rows_with(drawn, {{col::kLabel, labels[i]}});
    if (of_model.empty()) continue;
    curves.curves.push_back(
        layer_curve(of_model, columns, options.layer_base, labels[i], model_style(i)));
  }
  curves.references = references_of(drawn, columns);
  panel.content = std::move(curves);
  return panel;
}

}  // namespace lime
