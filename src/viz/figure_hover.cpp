// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_hover.h"

#include <fmt/format.h>

#include "viz/colour.h"
#include "viz/figure_file.h"
#include "viz/figure_legend.h"
#include "viz/figure_scene.h"
#include "viz/plots/plot_theme.h"

namespace lime {
namespace {

/// Largest number of elements of a panel that are listed.
constexpr std::size_t kMaxPoints = 5000;
constexpr Eigen::Index kMaxCells = 40'000;

std::string short_text(double value) { return fmt::format("{:.4g}", value); }

double to_tenths(double place) { return std::round(10.0 * place) / 10.0; }

/// Returns the value of a numeric label.
std::optional<double> value_of_label(const std::string& label) {
  bool is_number = false;
  const double value = QString::fromStdString(label).toDouble(&is_number);
  return is_number ? std::optional(value) : std::nullopt;
}

/// Returns the names of the rows or columns of a heatmap: "layer 3". Labels between two numbers
/// continue them; elsewhere they are the label of the tick, or the place.
std::vector<std::string> cell_names(const FigureAxis& axis, Eigen::Index count) {
  std::optional<std::pair<double, double>> line;  // number at 0, and per step
  if (axis.ticks.size() >= 2) {
    const AxisTick& first = axis.ticks.front();
    const AxisTick& last = axis.ticks.back();
    const auto from = value_of_label(first.label);
    const auto to = value_of_label(last.label);
    if (from && to && last.at != first.at) {
      const double slope = (*to - *from) / (last.at - first.at);
      line = {*from - slope * first.at, slope};
    }
  }
  const std::string front = axis.label.empty() ? "" : axis.label + " ";
  std::vector<std::string> names;
  for (Eigen::Index i = 0; i < count; ++i) {
    const auto tick = std::ranges::find(axis.ticks, static_cast<double>(i), &AxisTick::at);
    const double number = line ? line->first + line->second * static_cast<double>(i) : -0.5;
    const bool is_whole = line && std::abs(number - std::round(number)) < 1e-6;
    names.push_back(front + (tick != axis.ticks.end() ? tick->label
                             : is_whole               ? short_text(number)
                                                      : fmt::format("#{}", i)));
  }
  return names;
}

/// Collects the elements of one panel.
class PanelHover {
 public:
  PanelHover(const FigurePanel& panel, const FigureScene& scene, std::size_t index)
      : panel_(panel), scene_(scene), index_(index) {}

  Json take() {
    std::visit(*this, panel_.content);
    return std::move(json_);
  }

  void operator()(const CurvePanel& panel) {
    std::size_t count = 0;
    for (const Curve& curve : panel.curves) count += curve.x.size();
    if (count > kMaxPoints) return;
    for (const Curve& curve : panel.curves) {
      for (std::size_t i = 0; i < curve.x.size(); ++i) {
        if (!std::isfinite(curve.y[i])) continue;
        std::string text =
            fmt::format("{}: {} {}, {} {}", curve.label, panel_.x.label, short_text(curve.x[i]),
                        panel_.y.label, short_text(curve.y[i]));
        if (i < curve.low.size() && std::isfinite(curve.low[i])) {
          text += fmt::format(" [{}, {}]", short_text(curve.low[i]), short_text(curve.high[i]));
        }
        add_point(curve.x[i], curve.y[i], std::move(text));
      }
    }
  }

  void operator()(const ScatterPanel& panel) {
    if (panel.x.size() > kMaxPoints) return;
    for (std::size_t i = 0; i < panel.x.size(); ++i) {
      const auto group = static_cast<std::size_t>(panel.classes[i]);
      add_point(panel.x[i], panel.y[i],
                group < panel.class_names.size() ? panel.class_names[group] : "");
    }
  }

  void operator()(const HeatmapPanel& panel) {
    if (panel.values.size() > kMaxCells) return;
    Json values = Json::array();
    for (Eigen::Index r = 0; r < panel.values.rows(); ++r) {
      Json line = Json::array();
      for (Eigen::Index c = 0; c < panel.values.cols(); ++c) {
        const double value = panel.values(r, c);
        line.push_back(std::isfinite(value) ? Json(short_text(value)) : Json());
      }
      values.push_back(std::move(line));
    }
    json_["cells"] = {{"rows", cell_names(panel_.y, panel.values.rows())},
                      {"columns", cell_names(panel_.x, panel.values.cols())},
                      {"values", std::move(values)}};
  }

  /// Bars have their numbers beside them or in the table of the figure.
  void operator()(const BarPanel&) {}
  void operator()(const TablePanel&) {}

 private:
  void add_point(double x, double y, std::string text) {
    const QPointF at = scene_.to_scene(index_, {x, y});
    json_["points"].push_back({to_tenths(at.x()), to_tenths(at.y()), std::move(text)});
  }

  const FigurePanel& panel_;
  const FigureScene& scene_;
  std::size_t index_;
  Json json_ = Json::object();
};

Json series_colours(const Figure& figure, const FigureStyle& style) {
  const PlotTheme theme(style);
  const std::size_t count = num_colours_of(figure);
  Json series = Json::array();
  for (const LegendEntry& entry : legend_of(figure)) {
    if (!is_class_colour(entry.style.colour)) continue;
    series.push_back(
        {{"label", entry.label},
         {"colour", theme.class_colour(entry.style.colour, count).name().toStdString()}});
  }
  return series;
}

}  // namespace

Json figure_hover(const Figure& whole, const FigureStyle& style) {
  const Figure figure = drawn_figure(whole, style);
  const FigureScene scene(figure, style);
  Json panels = Json::array();
  for (std::size_t p = 0; p < figure.panels.size(); ++p) {
    if (!scene.has_axes(p)) continue;
    Json panel = PanelHover(figure.panels[p], scene, p).take();
    if (panel.empty()) continue;
    const QRectF area = scene.area(p);
    panel["area"] = {to_tenths(area.x()), to_tenths(area.y()), to_tenths(area.width()),
                     to_tenths(area.height())};
    panels.push_back(std::move(panel));
  }
  return {{"panels", std::move(panels)}, {"series", series_colours(figure, style)}};
}

}  // namespace lime
