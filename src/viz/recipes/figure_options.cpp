// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/figure_options.h"

#include <algorithm>
#include <variant>

#include "core/errors.h"

namespace lime {
namespace {

void check_limits(const std::vector<double>& limits, const char* name) {
  if (limits.empty() || (limits.size() == 2 && limits[0] < limits[1])) return;
  throw InvalidArgument("{}: expected two numbers, the smaller one first, got {}", name,
                        fmt::join(limits, ","));
}

void limit(FigureAxis& axis, const std::vector<double>& limits) {
  if (limits.empty()) return;
  axis.min = limits[0];
  axis.max = limits[1];
}

void make_logarithmic(Figure& figure, const FigureOptions& options) {
  bool leaves_out = false;
  const auto see = [&](const FigurePanel& panel, const FigureAxis& axis, const char* name,
                       const std::vector<double>& values) {
    if (!axis.logarithmic || values.empty()) return;
    const auto is_fit = [](double value) { return value > 0.0; };
    if (std::none_of(values.begin(), values.end(), is_fit)) {
      throw InvalidArgument("{}: needs values > 0, but panel '{}{}' has none", name, panel.title,
                            axis.label);
    }
    leaves_out = leaves_out || std::any_of(values.begin(), values.end(),
                                           [](double value) { return value <= 0.0; });
  };
  for (FigurePanel& panel : figure.panels) {
    const auto* const curves = std::get_if<CurvePanel>(&panel.content);
    if (curves == nullptr) {
      if (!options.log_x && !options.log_y) continue;
      throw InvalidArgument("log_{}: only line plots support logarithmic axes",
                            options.log_x ? "x" : "y");
    }
    panel.x.logarithmic = panel.x.logarithmic || options.log_x;
    panel.y.logarithmic = panel.y.logarithmic || options.log_y;
    for (const Curve& curve : curves->curves) {
      see(panel, panel.x, "log_x", curve.x);
      see(panel, panel.y, "log_y", curve.y);
    }
  }
  if (!leaves_out) return;
  figure.note += figure.note.empty() ? "" : "; ";
  figure.note += "values <= 0 are omitted";
}

}  // namespace

void FigureOptions::describe(OptionList& list) {
  list.group("Content");
  list.add("kind", kind, "figure type (see --list); default: the first one of the metric");
  list.add("site", site, "sites, e.g. values,hidden; default: all");
  list.add("label", label, "models; default: all");
  list.add("layer", layer, "layers of figures with a panel per layer, counted from --layer-base");
  list.add("head", head, "attention heads, counted from --layer-base; default: all");
  list.add(
      "measure", measure,
      "measures of geometry, lens, similarity, tokens, attention, counterfactual and comparison "
      "figures");
  list.add("router", router, "counterfactual routers, e.g. trained,identity; default: all");
  list.add("weighting", weighting,
           "weighting of router maps: none, keys, values, or 'keys - none'");
  list.add("by", by, "grouping of BLiMP tasks");
  list.add("over", over, "x axis of loss curves");
  list.add("layer_base", layer_base,
           "index of the first layer and head on axes, in --layer and in --head, 0 or 1");
  list.add("x_limits", x_limits, "limits of the x axis");
  list.add("y_limits", y_limits, "limits of the y axis");
  list.add("log_x", log_x, "logarithmic x axis");
  list.add("log_y", log_y, "logarithmic y axis");
  list.add("columns", columns, "number of panel columns, up to 100; 0: automatic");
  list.add("mixed_texts", mixed_texts, "allow results of different texts in one figure");
}

void FigureOptions::validate() const {
  if (layer_base != 0 && layer_base != 1) {
    throw InvalidArgument("layer_base: must be 0 or 1, got {}", layer_base);
  }
  constexpr int kMostColumns = 100;
  if (columns < 0 || columns > kMostColumns) {
    throw InvalidArgument("columns: must be from 0 to {}, got {}", kMostColumns, columns);
  }
  check_limits(x_limits, "x_limits");
  check_limits(y_limits, "y_limits");
}

std::string one_measure(const FigureOptions& options, const std::string& kind,
                        const std::string& usual, const std::vector<std::string>& known) {
  if (options.measure.size() > 1) {
    throw InvalidArgument("measure: {} shows a single measure, got {}", kind,
                          fmt::join(options.measure, ","));
  }
  const std::string measure = options.measure.empty() ? usual : options.measure.front();
  if (known.empty() || std::ranges::find(known, measure) != known.end()) return measure;
  throw InvalidArgument("measure: {} does not show '{}' (supported: {})", kind, measure,
                        fmt::join(known, ", "));
}

void apply_axis_options(Figure& figure, const FigureOptions& options) {
  for (FigurePanel& panel : figure.panels) {
    const bool has_limits = !options.x_limits.empty() || !options.y_limits.empty();
    if (has_limits && std::holds_alternative<TablePanel>(panel.content)) {
      throw InvalidArgument("{}_limits: {} is a table and has no axes",
                            options.x_limits.empty() ? "y" : "x", figure.name);
    }
    limit(panel.x, options.x_limits);
    limit(panel.y, options.y_limits);
  }
  make_logarithmic(figure, options);
}

}  // namespace lime
