// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/counterfactual_figures.h"

#include <system_error>

#include "store/results/difference_name.h"
#include "viz/figure_extents.h"
#include "viz/recipes/figure_parts.h"

namespace lime {
namespace {

constexpr const char* kTrained = "trained";
constexpr std::array kGapParts = {"gap", "projections", "mixing"};

/// Returns "last" for "last-2": routers with the same name and different numbers share a colour.
std::string family_of(const std::string& router) { return router.substr(0, router.find('-')); }

/// Returns the name of a router in figures: the layer in "cut-0" is numbered as on the axes.
std::string shown_name(const std::string& router, int layer_base) {
  constexpr std::string_view kCut = "cut-";
  int layer = 0;
  const char* const end = router.data() + router.size();
  if (!router.starts_with(kCut)) return router;
  const auto read = std::from_chars(router.data() + kCut.size(), end, layer);
  const bool is_layer = read.ec == std::errc() && read.ptr == end && layer < kMaxLayers;
  return is_layer ? fmt::format("{}{}", kCut, layer + layer_base) : router;
}

std::size_t family_colour(const std::string& family) {
  // Routers that remove signs or sources entirely share a colour.
  constexpr std::array kFamilies = {"trained", "identity", "last", "first", "top", "cut"};
  const auto* const at = std::ranges::find(kFamilies, family == "unsigned" ? "cut" : family);
  return at == kFamilies.end() ? kMutedColour : static_cast<std::size_t>(at - kFamilies.begin());
}

/// Returns the style of a router: its family's colour with the `index`-th pattern and marker.
SeriesStyle router_style(const std::string& router, std::size_t index) {
  const std::size_t colour = family_colour(family_of(router));
  if (colour == kMutedColour) {  // controls
    return {colour, static_cast<LinePattern>(2 + index % 2), MarkerShape::kNone};
  }
  return {colour, static_cast<LinePattern>(index % 4), marker_of(index + colour)};
}

struct RouterSeries {
  std::string label;
  std::string router;
  std::string name;  ///< of the legend
  SeriesStyle style;
};

std::vector<std::string> selected_routers(const FigureRows& rows,
                                          const std::vector<std::string>& requested) {
  const std::vector<std::string> available = distinct(rows, col::kRouter);
  for (const std::string& router : requested) {
    if (is_requested(available, router)) continue;
    throw InvalidArgument(OptionName("router"),
                          "the results contain no router '{}' (their routers: {})", router,
                          fmt::join(available, ", "));
  }
  return requested.empty() ? available : requested;
}

/// Returns a series per router of the model that has them, and one of the plain transformer.
std::vector<RouterSeries> series_of(const FigureRows& rows, const FigureOptions& options) {
  std::vector<RouterSeries> series;
  std::array<std::size_t, 8> seen = {};
  const auto next_of = [&](const std::string& router) {
    return seen[std::min<std::size_t>(family_colour(family_of(router)), seen.size() - 1)]++;
  };
  const FigureRows trained = rows_with(rows, {{col::kRouter, kTrained}});
  const std::vector<std::string> routed = distinct(trained, col::kLabel);
  const std::vector<std::string> routers = selected_routers(rows, options.router);
  for (const std::string& label : distinct(rows, col::kLabel)) {
    if (!contains(routed, label)) {
      // A plain transformer: the identity router.
      series.push_back({label, "identity", label, {kMutedColour, LinePattern::kSolid}});
      continue;
    }
    for (const std::string& router : routers) {
      const std::string prefix = routed.size() > 1 ? label + ", " : "";
      series.push_back({label, router, prefix + shown_name(router, options.layer_base),
                        router_style(router, next_of(router))});
    }
  }
  return series;
}

/// Number of routers whose curves remain distinguishable in one panel.
constexpr std::size_t kMaxTogether = 6;
constexpr std::size_t kMaxInPart = 4;

/// Splits many series into groups of few routers, families together. Each group starts with the
/// trained router and the plain transformer, for reference.
std::vector<std::vector<RouterSeries>> groups_of(const std::vector<RouterSeries>& series) {
  if (series.size() <= kMaxTogether) return {series};
  std::vector<RouterSeries> always;
  std::vector<std::vector<RouterSeries>> groups;
  std::string last;
  for (const RouterSeries& router_series : series) {
    if (router_series.router == kTrained || router_series.label == router_series.name) {
      always.push_back(router_series);
      if (router_series.router == kTrained) always.back().style.width = 1.5;
      continue;
    }
    const std::string family = family_of(router_series.router);
    const auto size = std::ranges::count_if(series, [&](const RouterSeries& other) {
      return family_of(other.router) == family && other.label != other.name;
    });
    const std::size_t requested = family == last ? 1 : static_cast<std::size_t>(size);
    if (groups.empty() || groups.back().size() >= kMaxInPart ||
        (groups.back().size() + requested > kMaxInPart && family != last)) {
      groups.emplace_back();
    }
    groups.back().push_back(router_series);
    last = family;
  }
  for (auto& group : groups) group.insert(group.begin(), always.begin(), always.end());
  return groups;
}

/// Gives `panels` the y range of all of them.
void share_range(std::span<FigurePanel> panels) {
  Extent y;
  for (const FigurePanel& panel : panels) {
    const Extent own = extents_of(panel).y;
    y.add({own.low, own.high});
  }
  const double margin = 0.05 * (y.high - y.low);
  if (!(margin > 0.0)) return;
  for (FigurePanel& panel : panels) {
    panel.y.min = y.low - margin;
    panel.y.max = y.high + margin;
  }
}

FigureRows counterfactual_rows(FigureSources sources, const FigureOptions& options,
                               const std::function<bool(const FigureRow&)>& keep) {
  return rows_where(rows_of(sources, options), [&](const FigureRow& row) {
    return row.text(col::kKind).empty() && row.has(col::kQuantity) && keep(row);
  });
}

/// Content of one panel: a quantity, or entropy with one preset and order.
struct QuantityPart {
  std::string quantity;
  std::string distinction;  ///< of the quantity's other parts; empty if there are none
  FigureRows rows;
};

std::vector<QuantityPart> parts_of(const FigureRows& rows, FigureSources sources,
                                   const FigureOptions& options) {
  std::vector<QuantityPart> parts;
  for (const std::string& quantity :
       selected_measures(distinct(rows, col::kQuantity), options.measure)) {
    const FigureRows own = rows_with(rows, {{col::kQuantity, quantity}});
    const std::vector<EntropyKind> kinds = entropy_kinds(own, sources);
    for (const EntropyKind& kind : kinds) {
      parts.push_back(
          {quantity, distinction_of(kind, kinds), rows_where(own, [&](const FigureRow& row) {
             return entropy_kind_of(row, sources) == kind;
           })});
    }
  }
  return parts;
}

/// Adds the site, and preset and order of the entropy, if equal in all `parts`.
void add_parts_note(Figure& figure, const std::vector<QuantityPart>& parts, FigureSources sources) {
  FigureRows all;
  FigureRows entropies;
  for (const QuantityPart& part : parts) {
    all.insert(all.end(), part.rows.begin(), part.rows.end());
    if (part.quantity != "entropy") continue;
    entropies.insert(entropies.end(), part.rows.begin(), part.rows.end());
  }
  add_note(figure, site_note(distinct(all, col::kSite)));
  const std::string kind = common_of(entropy_kinds(entropies, sources));
  if (!kind.empty()) add_note(figure, "entropy: " + kind);
}

/// Writes the name of a difference with a minus sign.
std::string with_minus(const std::string& name) {
  const auto terms = terms_of_difference(name);
  return terms ? fmt::format("{} \xE2\x88\x92 {}", terms->first, terms->second) : name;
}

/// Adds panel_of(rows, quantity) of every model and part that has rows.
template <typename F>
void add_panels(Figure& figure, const std::vector<std::string>& labels,
                const std::vector<QuantityPart>& parts, const F& panel_of) {
  for (const std::string& label : labels) {
    for (const QuantityPart& part : parts) {
      const FigureRows own = rows_with(part.rows, {{col::kLabel, label}});
      if (own.empty()) continue;
      figure.panels.push_back(panel_of(own, part.quantity));
      figure.panels.back().title = joined_parts({labels.size() > 1 ? label : "", part.distinction});
    }
  }
}

std::string with_delta(const std::string& quantity) {
  return fmt::format("\xCE\x94 {}", measure_name(quantity));
}

FigurePanel change_panel(const FigureRows& rows, const std::vector<std::string>& routers,
                         const std::string& quantity, int layer_base) {
  BarPanel bars;
  BarPanel::Series series;
  for (const std::string& router : routers) {
    const FigureRows own = rows_with(rows, {{col::kRouter, router}});
    if (own.empty()) continue;
    if (own.size() > 1) {
      throw InvalidArgument(
          "figure: router {} of {} is duplicated; select one with --site or --label", router,
          own.front().text(col::kLabel));
    }
    bars.groups.push_back(shown_name(router, layer_base));
    series.values.push_back(own.front().number(col::kDifference));
    series.low.push_back(own.front().number(col::kDifference.low));
    series.high.push_back(own.front().number(col::kDifference.high));
  }
  bars.series.push_back(std::move(series));
  bars.lines_per_group = usual_lines_per_group(bars.groups.size(), 1);
  bars.reference = ReferenceLine{.is_zero = true};
  return {.x = {.label = with_delta(quantity)}, .content = std::move(bars)};
}

FigurePanel gap_panel(const FigureRows& rows, const std::string& quantity, int layer_base) {
  CurvePanel curves;
  for (std::size_t i = 0; i < kGapParts.size(); ++i) {
    const FigureRows own = rows_with(rows, {{col::kPart, kGapParts[i]}});
    if (own.empty()) continue;
    const char* const label = i == 0 ? "gap" : i == 1 ? "projections" : "mixing";
    curves.curves.push_back(layer_curve(own, LayerCurves{}, layer_base, label, model_style(i)));
  }
  curves.references.push_back({.is_zero = true});
  return {.x = {.label = "layer", .whole_numbers = true},
          .y = {.label = with_delta(quantity)},
          .content = std::move(curves)};
}

}  // namespace

Figure counterfactual_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = counterfactual_rows(sources, options, [](const FigureRow& row) {
    return row.has(col::kRouter) && row.has(col::kLayer) && row.has(col::kMean);
  });
  if (rows.empty())
    throw NothingToShow("figure: no row contains a layer under a counterfactual router");
  const auto groups = groups_of(series_of(rows, options));
  Figure figure;
  const std::vector<QuantityPart> parts = parts_of(rows, sources, options);
  for (const QuantityPart& part : parts) {
    // Bands of several curves would merge; the other figures of these results show the intervals.
    LayerCurves columns{.low = {}, .ceiling_label = "ceiling"};
    if (part.quantity == "entropy") columns.ceiling = col::kCeiling;
    columns.ceiling_in_legend = groups.size() > 1;
    columns.y_label = measure_name(part.quantity);
    const std::size_t first = figure.panels.size();
    for (const std::vector<RouterSeries>& group : groups) {
      FigurePanel panel = layer_panel(part.rows, columns, {}, options);  // axes and ceiling
      panel.title = part.distinction;
      auto& curves = std::get<CurvePanel>(panel.content).curves;
      for (const RouterSeries& router_series : group) {
        const FigureRows own = rows_where(part.rows, [&](const FigureRow& row) {
          return row.text(col::kLabel) == router_series.label &&
                 row.text(col::kRouter) == router_series.router;
        });
        if (own.empty()) continue;
        curves.push_back(
            layer_curve(own, columns, options.layer_base, router_series.name, router_series.style));
      }
      figure.panels.push_back(std::move(panel));
    }
    if (groups.size() > 1) share_range(std::span(figure.panels).subspan(first));
  }
  figure.note = "values read by each layer's attention if only its own router is replaced";
  add_parts_note(figure, parts, sources);
  const int by_group =
      groups.size() > 1 ? static_cast<int>(std::min<std::size_t>(3, groups.size())) : 0;
  lay_out(figure, options, by_group, 2);
  if (groups.size() > 1) figure.panel_aspect = 0.8;
  return figure;
}

Figure counterfactual_change_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = counterfactual_rows(sources, options, [](const FigureRow& row) {
    return row.has(col::kRouter) && !row.has(col::kLayer) && row.has(col::kDifference);
  });
  if (rows.empty()) throw NothingToShow("figure: no row compares a router with the trained one");
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  const std::vector<std::string> routers = selected_routers(rows, options.router);
  Figure figure;
  const std::vector<QuantityPart> parts = parts_of(rows, sources, options);
  add_panels(figure, labels, parts, [&](const FigureRows& own, const std::string& quantity) {
    return change_panel(own, routers, quantity, options.layer_base);
  });
  // The first layer has no router.
  figure.note =
      fmt::format("minus the trained router, mean over layers from {} on", 1 + options.layer_base);
  add_parts_note(figure, parts, sources);
  add_note(figure, intervals_note(figure, sources, "paired "));
  lay_out(figure, options, 0, 2);
  return figure;
}

Figure counterfactual_gap_figure(FigureSources sources, const FigureOptions& options) {
  const FigureRows rows = counterfactual_rows(sources, options, [](const FigureRow& row) {
    return row.has(col::kPart) && row.has(col::kLayer) && row.has(col::kMean);
  });
  throw_if<NothingToShow>(
      rows.empty(),
      "figure: the results contain no gap to a plain transformer; run lime-metrics "
      "counterfactual with --against");
  const std::vector<std::string> labels = distinct(rows, col::kLabel);
  Figure figure;
  const std::vector<QuantityPart> parts = parts_of(rows, sources, options);
  add_panels(figure, labels, parts, [&](const FigureRows& own, const std::string& quantity) {
    return gap_panel(own, quantity, options.layer_base);
  });
  for (FigurePanel& panel : figure.panels) panel.title = with_minus(panel.title);
  figure.note = fmt::format("{}gap = projections + mixing",
                            labels.size() == 1 ? with_minus(labels.front()) + ": " : "");
  add_parts_note(figure, parts, sources);
  add_note(figure, intervals_note(figure, sources));
  lay_out(figure, options, 0, 2);
  return figure;
}

}  // namespace lime
