// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/layer_figures.h"

#include <set>

#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

constexpr std::size_t kMaxSitesInARow = 3;

/// Returns "entropy (nats)"; a rank is not called entropy.
std::string axis_label(const std::string& unit) {
  if (unit == "rank") return "effective rank";
  return fmt::format("entropy ({})", unit.empty() ? "nats" : unit);
}

/// Returns "100 sequences", or the range over the rows; empty if no row has a count.
std::string sequences_text(const FigureRows& rows) {
  std::vector<double> counts;
  for (const FigureRow& row : rows) {
    if (row.has(col::kN)) counts.push_back(row.number(col::kN));
  }
  if (counts.empty()) return "";
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  if (*least == *most) return fmt::format("{} sequence{}", *most, *most == 1.0 ? "" : "s");
  return fmt::format("{} to {} sequences", *least, *most);
}

/// Returns a note on the bands, listing their measures if others have none.
std::string bands_note(const Figure& figure, FigureSources sources) {
  std::vector<std::string> with;
  bool all_have = true;
  for (const FigurePanel& panel : figure.panels) {
    if (!has_spread(panel)) {
      all_have = false;
    } else if (!contains(with, panel.y.label)) {
      with.push_back(panel.y.label);
    }
  }
  const std::string note = intervals_note(figure, sources);
  if (all_have || note.empty()) return note;
  return fmt::format("{} of {}", note, fmt::join(with, ", "));
}

/// Ends the bands of entropies at the ceiling: no entropy is above it, but an interval that
/// resamples sequences of several lengths may be.
void keep_below_ceiling(const FigureRows& rows, int layer_base, FigurePanel& panel) {
  for (Curve& curve : std::get<CurvePanel>(panel.content).curves) {
    const FigureRows own = rows_with(rows, {{col::kLabel, curve.label}});
    const Curve ceiling = layer_curve(own, {.value = col::kCeiling, .low = {}}, layer_base);
    if (ceiling.x != curve.x) continue;
    for (std::size_t i = 0; i < curve.high.size(); ++i) {
      if (curve.y[i] <= ceiling.y[i]) curve.high[i] = std::min(curve.high[i], ceiling.y[i]);
    }
  }
}

/// A layer is a lone peak of a curve that is this many times the largest of the others, and beyond
/// all intervals.
constexpr double kPeak = 3.0;

/// Limits the axis of panels in which one layer would flatten all others. @return a note on them
std::string cut_lone_peaks(Figure& figure) {
  std::string note;
  for (FigurePanel& panel : figure.panels) {
    auto* const curves = std::get_if<CurvePanel>(&panel.content);
    if (curves == nullptr || panel.y.logarithmic) continue;
    std::vector<std::pair<double, double>> points;  // value and layer
    double others = 0.0;                            // upper ends of all but the peak
    for (const Curve& curve : curves->curves) {
      for (std::size_t i = 0; i < curve.y.size(); ++i) {
        if (std::isfinite(curve.y[i])) points.emplace_back(curve.y[i], curve.x[i]);
      }
    }
    if (points.size() < 4 || std::ranges::min(points).first < 0.0) continue;
    const auto peak = std::ranges::max(points);
    for (const Curve& curve : curves->curves) {
      for (std::size_t i = 0; i < curve.y.size(); ++i) {
        if (curve.x[i] == peak.second || !std::isfinite(curve.y[i])) continue;
        others = std::max(others, curve.low.empty() ? curve.y[i] : curve.high[i]);
      }
    }
    if (!(others > 0.0) || peak.first < kPeak * others) continue;
    panel.y.max = 1.15 * others;
    note += fmt::format("{}{} of layer {:.0f} is {:.3g}, beyond the axis", note.empty() ? "" : "; ",
                        panel.y.label, peak.second, peak.first);
  }
  return note;
}

constexpr std::array kControlPatterns = {LinePattern::kDotted, LinePattern::kDashDotted,
                                         LinePattern::kDashed};

std::string control_name(const std::string& labels) {
  if (labels == "shuffled") return "shuffled labels";
  if (labels == "token") return "random label per token";
  if (labels == "sequence") return "random label per sequence";
  return labels == "random-features" ? "random features" : labels;
}

/// Returns the controls of one panel: a line without markers for each model and control, in the
/// model's colour; the legend has one entry per control.
std::vector<Curve> control_curves(const FigureRows& rows, const std::vector<std::string>& labels,
                                  const std::vector<std::string>& controls, int layer_base) {
  std::vector<Curve> curves;
  for (std::size_t c = 0; c < controls.size(); ++c) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const FigureRows own =
          rows_with(rows, {{col::kLabels, controls[c]}, {col::kLabel, labels[i]}});
      if (own.empty()) continue;
      const std::string name = control_name(controls[c]);
      curves.push_back(
          layer_curve(own, {.low = {}}, layer_base, fmt::format("{}, {}", labels[i], name),
                      {i, kControlPatterns[c % kControlPatterns.size()], MarkerShape::kNone}));
      curves.back().legend = name;
    }
  }
  return curves;
}

FigurePanel accuracy_panel(const FigureRows& rows, const std::vector<std::string>& labels,
                           const std::vector<std::string>& controls, const FigureOptions& options) {
  const LayerCurves columns{.deviation = col::kStd,
                            .bounds = {0.0, 1.0},
                            .spread = Curve::Spread::kBars,
                            .ceiling = col::kMajority,
                            .ceiling_label = "majority baseline",
                            .ceiling_in_legend = true,
                            .y_label = "probe accuracy"};
  const FigureRows words = rows_with(rows, {{col::kLabels, "words"}});
  FigurePanel panel = layer_panel(words, columns, labels, options);
  auto& curves = std::get<CurvePanel>(panel.content).curves;
  std::vector<Curve> drawn = control_curves(rows, labels, controls, options.layer_base);
  // Last, so that the legend begins with the models.
  curves.insert(curves.end(), std::make_move_iterator(drawn.begin()),
                std::make_move_iterator(drawn.end()));
  return panel;
}

/// Columns that, besides `quantity`, distinguish the quantities of one results file.
constexpr std::array<Column, 5> kParts = {col::kAlpha, col::kMethod, col::kLabels, col::kTask,
                                          col::kOver};

std::string pair_of(const FigureRow& row) {
  return fmt::format("{} \xE2\x88\x92 {}", row.text(col::kLabel), row.text(col::kBaseline));
}

std::string quantity_of(const FigureRow& row, const std::vector<Column>& varying) {
  std::string name = measure_name(row.text(col::kQuantity));
  for (const Column& column : varying) {
    if (!row.has(column)) continue;
    const std::string& text = row.text(column);
    name += text.empty() ? fmt::format(", \xCE\xB1 = {}", row.number(column))
                         : fmt::format(", {}", text);
  }
  return name;
}

std::vector<Column> varying_parts(const FigureRows& rows) {
  std::vector<Column> varying;
  for (const Column& column : kParts) {
    const bool differs = std::ranges::any_of(rows, [&](const FigureRow& row) {
      return row.has(column) && rows.front().has(column) &&
             row.row->cell(column) != rows.front().row->cell(column);
    });
    if (differs) varying.push_back(column);
  }
  return varying;
}

std::string varying_preset(const FigureRow& row, const std::vector<EntropyKind>& kinds,
                           FigureSources sources) {
  const bool differs = std::ranges::any_of(
      kinds, [&](const EntropyKind& kind) { return kind.preset != kinds.front().preset; });
  return differs ? entropy_kind_of(row, sources).preset : "";
}

Curve difference_curve(const FigureRows& rows, int layer_base) {
  Curve curve =
      layer_curve(rows, {.value = col::kDifference, .spread = Curve::Spread::kBars}, layer_base);
  curve.stars.assign(curve.x.size(), "");
  for (const FigureRow& row : rows) {
    const auto at = std::ranges::find(curve.x, row.number(col::kLayer) + layer_base);
    curve.stars[static_cast<std::size_t>(at - curve.x.begin())] =
        stars_of_p(row.number(col::kPHolm));
  }
  return curve;
}

constexpr std::size_t kMaxCurves = 8;  // more curves in a panel cannot be told apart

}  // namespace

Figure entropy_figure(FigureSources sources, const FigureOptions& options) {
  FigureRows rows = rows_of(sources, options);
  // Rows of differences and means over layers have no ceiling.
  std::erase_if(rows, [](const FigureRow& row) { return !row.has(col::kCeiling); });
  if (rows.empty()) throw NothingToShow("figure: no row contains the entropy of a layer");
  const std::vector<EntropyKind> kinds = entropy_kinds(rows, sources);
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  const std::vector<std::string> sites = sites_of(rows);
  Figure figure;
  for (const EntropyKind& kind : kinds) {
    for (const std::string& site : sites) {
      const FigureRows part = rows_where(rows, [&](const FigureRow& row) {
        return row.text(col::kSite) == site && entropy_kind_of(row, sources) == kind;
      });
      if (part.empty()) continue;
      const LayerCurves columns{
          .ceiling = col::kCeiling, .ceiling_label = "ceiling", .y_label = axis_label(kind.unit)};
      figure.panels.push_back(layer_panel(part, columns, labels, options));
      keep_below_ceiling(part, options.layer_base, figure.panels.back());
      figure.panels.back().title =
          joined_parts({sites.size() > 1 ? site : "", distinction_of(kind, kinds)});
    }
  }
  // One row per kind, if all of them have all of a few sites.
  const bool is_grid = kinds.size() > 1 && sites.size() > 1 && sites.size() <= kMaxSitesInARow &&
                       figure.panels.size() == kinds.size() * sites.size();
  const int by_site = is_grid ? static_cast<int>(sites.size()) : 0;
  lay_out(figure, options, by_site, 2);
  figure.note = site_note(sites);
  add_note(figure, joined_parts({"matrix-based entropy", common_of(kinds), sequences_text(rows)}));
  add_note(figure, intervals_note(figure, sources, "", "bootstrap intervals over sequences"));
  return figure;
}

Figure geometry_figure(FigureSources sources, const FigureOptions& options) {
  FigureRows rows = rows_where(rows_of(sources, options), [](const FigureRow& row) {
    return row.text(col::kKind).empty() && row.has(col::kMeasure);
  });
  if (rows.empty()) throw NothingToShow("figure: no row contains a geometry measure");
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  std::vector<std::string> sites = sites_of(rows);
  // Several panels per site: only one site unless several are requested.
  const bool has_more_sites = options.site.empty() && sites.size() > 1;
  if (has_more_sites) sites = {is_requested(sites, "hidden") ? "hidden" : sites.front()};
  Figure figure;
  for (const std::string& site : sites) {
    for (const std::string& measure :
         selected_measures(distinct(rows, col::kMeasure), options.measure)) {
      const FigureRows part = rows_with(rows, {{col::kSite, site}, {col::kMeasure, measure}});
      // Ranks may exist for all rows and for each sequence.
      for (const std::string& over : distinct(part, col::kOver)) {
        std::string name = measure_name(measure);
        if (distinct(part, col::kOver).size() > 1 && over == "sequences") name += ", per sequence";
        const FigureRows drawn = rows_with(part, {{col::kOver, over}});
        figure.panels.push_back(layer_panel(drawn, {.y_label = name}, labels, options));
        figure.panels.back().title = sites.size() > 1 ? site : "";
        figure.panels.back().y.logarithmic = measure == "largest_to_median";
      }
    }
  }
  const int few = std::min<int>(3, static_cast<int>(figure.panels.size()));
  lay_out(figure, options, few, 3);
  figure.note = site_note(sites);
  add_note(figure, bands_note(figure, sources));
  if (options.y_limits.empty() && !options.log_y) add_note(figure, cut_lone_peaks(figure));
  figure.panel_aspect = 0.75;
  return figure;
}

Figure separability_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_with(rows_of(sources, options), {{col::kKind, ""}});
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  const std::vector<std::string> sites = sites_of(rows);
  const std::vector<std::string> methods = distinct(rows, col::kMethod);
  std::vector<std::string> controls = distinct(rows, col::kLabels);
  std::erase(controls, "words");
  Figure figure;
  for (const std::string& method : methods) {
    for (const std::string& site : sites) {
      const FigureRows of_site = rows_with(rows, {{col::kSite, site}});
      const FigureRows part = rows_with(of_site, {{col::kMethod, method}});
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
  lay_out(figure, options, 0, 2);
  return figure;
}

Figure comparison_figure(FigureSources sources, const FigureOptions& options) {
  FigureRows rows = rows_where(rows_of(sources, options), [&](const FigureRow& row) {
    return row.text(col::kKind) == "comparison" && row.has(col::kLayer) &&
           (row.text(col::kLabels).empty() || row.text(col::kLabels) == "words");
  });
  throw_if<NothingToShow>(
      rows.empty(),
      "figure: the results contain no comparison of layers; run lime-metrics {} with --compare "
      "first",
      sources.front().results.metric);
  const std::vector<std::string> selected =
      selected_measures(distinct(rows, col::kQuantity), options.measure);
  std::erase_if(rows, [&](const FigureRow& row) {
    return !is_requested(selected, row.text(col::kQuantity));
  });
  const std::vector<Column> varying = varying_parts(rows);
  const std::vector<std::string> pairs = distinct_values(rows, pair_of);
  const std::vector<std::string> sites = sites_of(rows);
  const std::vector<EntropyKind> kinds = sources.front().results.metric == "entropy"
                                             ? entropy_kinds(rows, sources)
                                             : std::vector<EntropyKind>{};
  const auto name_of = [&](const FigureRow& row) {
    return joined_parts({quantity_of(row, varying), varying_preset(row, kinds, sources)});
  };
  Figure figure;
  for (const std::string& quantity : distinct_values(rows, name_of)) {
    for (const std::string& site : sites) {
      FigurePanel panel;
      panel.title = sites.size() > 1 ? site : "";
      panel.x = {.label = "layer", .whole_numbers = true};
      panel.y = {.label = fmt::format("\xCE\x94 {}", quantity)};
      CurvePanel curves;
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const FigureRows own = rows_where(rows, [&](const FigureRow& row) {
          return name_of(row) == quantity && row.text(col::kSite) == site &&
                 pair_of(row) == pairs[i];
        });
        if (own.empty()) continue;
        curves.curves.push_back(difference_curve(own, options.layer_base));
        curves.curves.back().label = pairs[i];
        curves.curves.back().style = model_style(i);
        // Isolated points, so that stars remain readable.
        curves.curves.back().style.pattern = LinePattern::kNone;
        for (const double layer : curves.curves.back().x) {
          panel.x.min = std::min(panel.x.min.value_or(layer), layer - 0.4);
          panel.x.max = std::max(panel.x.max.value_or(layer), layer + 0.4);
        }
      }
      if (curves.curves.empty()) continue;
      curves.references.push_back({.is_zero = true});
      panel.content = std::move(curves);
      figure.panels.push_back(std::move(panel));
    }
  }
  // One row per quantity, if all of them have all sites.
  const bool is_full = figure.panels.size() % sites.size() == 0 && sites.size() > 1;
  const int by_site = is_full ? static_cast<int>(sites.size()) : 0;
  lay_out(figure, options, by_site, 2);
  figure.note = site_note(sites);
  add_note(figure, common_of(kinds));
  add_note(figure, pairs.size() == 1 ? pairs.front() : "");
  add_note(figure, intervals_note(figure, sources, "paired "));
  add_note(figure, fmt::format("{} over the layers", kStarsNote));
  return figure;
}

Figure series_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = rows_with(rows_of(sources, options), {{col::kKind, ""}});
  std::set<int> available;
  for (const FigureRow& row : rows) {
    if (row.has(col::kLayer)) available.insert(row.index(col::kLayer, kMaxLayers));
  }
  const std::vector<int> layers = layers_to_draw(options, available, kMaxCurves);
  std::vector<std::string> measures = distinct(rows, col::kMeasure);
  if (options.measure.empty()) {
    // One measure of the drift.
    const std::vector<std::string> drift =
        distinct(rows_with(rows, {{col::kQuantity, "drift"}}), col::kMeasure);
    std::erase_if(measures, [&](const std::string& measure) {
      return contains(drift, measure) &&
             measure != (contains(drift, "cka_debiased") ? "cka_debiased" : drift.front());
    });
  }
  measures = selected_measures(measures, options.measure);
  const bool has_labels = distinct(rows, col::kLabel).size() > 1;
  const std::vector<std::string> sites = sites_of(rows);
  Figure figure;
  auto groups = distinct_texts(rows, col::kMeasure, col::kReference, col::kSite, col::kLabel);
  std::erase_if(groups, [&](const auto& group) { return !contains(measures, group[0]); });
  std::ranges::stable_sort(groups, {}, [&](const auto& group) {
    constexpr std::array kReferences = {"", "first", "previous", "last"};
    return std::pair(std::ranges::find(measures, group[0]),
                     std::ranges::find(kReferences, group[1]));
  });
  for (const auto& [measure, reference, site, label] : groups) {
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
      const std::string name =
          has_layer ? fmt::format("layer {}", layer + options.layer_base) : "model";
      Curve& curve = curves.curves.emplace_back(
          layer_curve(part, {.over = col::kStep}, 0, name, layer_style(i, layers.size())));
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
