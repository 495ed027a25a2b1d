// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/axis_options.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "core/errors.h"

namespace lime {
namespace {

void limit(FigureAxis& axis, const std::vector<double>& limits) {
  if (limits.empty()) return;
  axis.min = limits[0];
  axis.max = limits[1];
}

/// Makes the requested axes logarithmic; reports omitted points in the note.
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
