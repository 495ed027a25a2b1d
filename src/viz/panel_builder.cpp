// SPDX-License-Identifier: Apache-2.0
#include "viz/panel_builder.h"

#include <algorithm>
#include <cmath>

#include "viz/cloud_plottable.h"
#include "viz/text_elements.h"

namespace lime {
namespace {

QVector<double> to_qvector(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

QCPScatterStyle scatter_style(MarkerShape shape, const QColor& colour) {
  if (shape == MarkerShape::kNone) return QCPScatterStyle::ssNone;
  const double size = units(3.4);
  // Drawn by hand, because QCustomPlot's own shapes have outlines of fixed width.
  QPainterPath path;
  switch (shape) {
    case MarkerShape::kSquare:
      path.addRect(-0.45 * size, -0.45 * size, 0.9 * size, 0.9 * size);
      break;
    case MarkerShape::kTriangle:
      path.addPolygon(QPolygonF{{0, -0.58 * size},
                                {0.55 * size, 0.42 * size},
                                {-0.55 * size, 0.42 * size},
                                {0, -0.58 * size}});
      break;
    case MarkerShape::kDiamond:
      path.addPolygon(QPolygonF{{0, -0.65 * size},
                                {0.65 * size, 0},
                                {0, 0.65 * size},
                                {-0.65 * size, 0},
                                {0, -0.65 * size}});
      break;
    default:
      path.addEllipse(QPointF(0, 0), size / 2.0, size / 2.0);
  }
  // QCustomPlot scales custom shapes by size / 6.
  return QCPScatterStyle(path, QPen(Qt::NoPen), QBrush(colour), 6.0);
}

void add_band(const PanelPlace& place, const Curve& curve, const QColor& colour) {
  const auto bound = [&](const std::vector<double>& values) {
    QCPGraph* const graph = place.plot->addGraph(place.x(), place.y());
    graph->setLayer("background");
    graph->setData(to_qvector(curve.x), to_qvector(values), true);
    graph->setPen(Qt::NoPen);
    return graph;
  };
  QCPGraph* const low = bound(curve.low);
  QCPGraph* const high = bound(curve.high);
  QColor fill = colour;
  fill.setAlphaF(0.18F);
  high->setBrush(fill);
  high->setChannelFillGraph(low);
}

void add_error_bars(const PanelPlace& place, const Curve& curve, QCPGraph* graph,
                    const QColor& colour) {
  auto* const bars = new QCPErrorBars(place.x(), place.y());
  bars->setDataPlottable(graph);
  bars->setPen(QPen(colour, units(0.7)));
  bars->setWhiskerWidth(units(3));
  bars->setSymbolGap(0);
  QVector<double> minus;
  QVector<double> plus;
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    minus.push_back(curve.y[i] - curve.low[i]);
    plus.push_back(curve.high[i] - curve.y[i]);
  }
  bars->setData(minus, plus);
}

void add_stars(const PanelPlace& place, const Curve& curve) {
  for (std::size_t i = 0; i < curve.stars.size(); ++i) {
    if (curve.stars[i].empty() || !std::isfinite(curve.y[i])) continue;
    auto* const text = new QCPItemText(place.plot);
    text->setText(QString::fromStdString(curve.stars[i]));
    text->setFont(place.theme->label_font());
    text->setColor(place.theme->ink());
    text->setPositionAlignment(Qt::AlignHCenter | Qt::AlignBottom);
    text->setClipToAxisRect(false);
    text->position->setAxes(place.x(), place.y());
    text->position->setAxisRect(place.rect);
    text->position->setCoords(curve.x[i], curve.high.empty() ? curve.y[i] : curve.high[i]);
  }
}

void add_reference(const PanelPlace& place, const ReferenceLine& reference) {
  auto* const line = new QCPItemLine(place.plot);
  line->setPen(QPen(place.theme->muted(), units(0.7), Qt::DashLine, Qt::FlatCap));
  line->setClipAxisRect(place.rect);
  const auto fix = [&](QCPItemPosition* position, double x) {
    position->setAxisRect(place.rect);
    position->setAxes(place.x(), place.y());
    position->setTypeX(QCPItemPosition::ptAxisRectRatio);
    position->setTypeY(QCPItemPosition::ptPlotCoords);
    position->setCoords(x, reference.y);
  };
  fix(line->start, 0.0);
  fix(line->end, 1.0);
  if (reference.label.empty()) return;
  auto* const text = new QCPItemText(place.plot);
  text->setText(QString::fromStdString(reference.label));
  text->setFont(place.theme->tick_font());
  text->setColor(place.theme->muted());
  text->setPositionAlignment(Qt::AlignRight | Qt::AlignBottom);
  text->setPadding(QMargins(0, 0, 0, units(1.0)));
  text->setClipToAxisRect(false);
  fix(text->position, 1.0);
}

/// Grows as points are added.
struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void add(const std::vector<double>& values) {
    for (const double value : values) add(value);
  }
  bool empty() const { return !(low <= high); }
};

struct Extents {
  Extent x;
  Extent y;
};

Extents extents_of(const FigurePanel& panel) {
  Extents all;
  if (const auto* const curves = std::get_if<CurvePanel>(&panel.content)) {
    for (const Curve& curve : curves->curves) {
      all.x.add(curve.x);
      all.y.add(curve.y);
      all.y.add(curve.low);
      all.y.add(curve.high);
    }
    for (const ReferenceLine& reference : curves->references) all.y.add(reference.y);
  } else if (const auto* const cloud = std::get_if<CloudPanel>(&panel.content)) {
    for (const float value : cloud->x) all.x.add(static_cast<double>(value));
    for (const float value : cloud->y) all.y.add(static_cast<double>(value));
  } else if (const auto* const bars = std::get_if<BarPanel>(&panel.content)) {
    all.x.add(-0.5);
    all.x.add(static_cast<double>(bars->groups.size()) - 0.5);
    all.y.add(0.0);
    for (const BarPanel::Series& series : bars->series) {
      all.y.add(series.values);
      all.y.add(series.high);
    }
  }
  return all;
}

/// The range that `axis` shows of `extent`, with a margin so that nothing lies on the frame.
QCPRange range_of(const FigureAxis& axis, const Extent& extent) {
  double low = extent.empty() ? 0.0 : extent.low;
  double high = extent.empty() ? 1.0 : extent.high;
  if (axis.logarithmic) {
    const double factor = std::max(1.05, std::pow(high / low, 0.05));
    return {axis.min.value_or(low / factor), axis.max.value_or(high * factor)};
  }
  const double size = high - low;
  // A constant series gets a range around it that shows how small its changes are.
  const double margin = size > 0.0 ? 0.05 * size : std::max(0.5, 0.05 * std::abs(high));
  return {axis.min.value_or(low - margin), axis.max.value_or(high + margin)};
}

QSharedPointer<QCPAxisTicker> ticker_of(const FigureAxis& axis) {
  if (!axis.ticks.empty()) {
    const QSharedPointer<QCPAxisTickerText> ticker(new QCPAxisTickerText);
    for (const AxisTick& tick : axis.ticks) {
      ticker->addTick(tick.at, QString::fromStdString(tick.label));
    }
    return ticker;
  }
  if (axis.logarithmic) return QSharedPointer<QCPAxisTicker>(new QCPAxisTickerLog);
  if (axis.whole_numbers) {
    const QSharedPointer<QCPAxisTickerFixed> ticker(new QCPAxisTickerFixed);
    ticker->setTickStep(1.0);
    ticker->setScaleStrategy(QCPAxisTickerFixed::ssMultiples);
    ticker->setTickCount(6);
    return ticker;
  }
  const QSharedPointer<QCPAxisTicker> ticker(new QCPAxisTicker);
  ticker->setTickCount(5);
  return ticker;
}

void dress_axis(QCPAxis& axis, const FigureAxis& wanted, const PlotTheme& theme) {
  axis.setLabel(QString::fromStdString(wanted.label));
  axis.setLabelFont(theme.label_font());
  axis.setTickLabelFont(theme.tick_font());
  axis.setLabelColor(theme.ink());
  axis.setTickLabelColor(theme.ink());
  axis.setBasePen(theme.axis_pen());
  axis.setTickPen(theme.axis_pen());
  axis.setSubTicks(false);
  axis.setTickLength(0, units(2.5));
  axis.setTickLabelPadding(units(2));
  axis.setLabelPadding(units(2));
  axis.setPadding(units(1));
  if (wanted.logarithmic) {
    axis.setScaleType(QCPAxis::stLogarithmic);
    axis.setNumberFormat("eb");
    axis.setNumberPrecision(0);
  }
  axis.setTicker(ticker_of(wanted));
  axis.grid()->setPen(theme.grid_pen());
  axis.grid()->setZeroLinePen(theme.grid_pen());
  if (wanted.hides_numbers) {
    axis.setTicks(false);
    axis.setTickLabels(false);
  }
}

}  // namespace

void add_curves(const PanelPlace& place, const CurvePanel& panel) {
  for (const ReferenceLine& reference : panel.references) add_reference(place, reference);
  for (const Curve& curve : panel.curves) {
    const QColor colour = place.theme->class_colour(curve.look.colour, place.num_classes);
    if (curve.spread == Curve::Spread::kBand) add_band(place, curve, colour);
    QCPGraph* const graph = place.plot->addGraph(place.x(), place.y());
    graph->setData(to_qvector(curve.x), to_qvector(curve.y), true);
    graph->setPen(place.theme->curve_pen(curve.look, place.num_classes));
    graph->setScatterStyle(scatter_style(curve.look.marker, colour));
    graph->setAdaptiveSampling(false);
    if (curve.spread == Curve::Spread::kBars) add_error_bars(place, curve, graph, colour);
    add_stars(place, curve);
  }
}

void add_map(const PanelPlace& place, const MapPanel& panel) {
  auto* const map = new MapPlottable(place.x(), place.y(), panel.values, place.scale);
  if (panel.shows_numbers) map->show_numbers(place.theme->tick_font());
  const auto border = [&](double x1, double y1, double x2, double y2) {
    auto* const line = new QCPItemLine(place.plot);
    line->setPen(QPen(place.theme->ground(), units(0.8), Qt::SolidLine, Qt::FlatCap));
    line->setClipAxisRect(place.rect);
    for (QCPItemPosition* const end : {line->start, line->end}) {
      end->setAxisRect(place.rect);
      end->setAxes(place.x(), place.y());
    }
    line->start->setCoords(x1, y1);
    line->end->setCoords(x2, y2);
  };
  const double right = static_cast<double>(panel.values.cols()) - 0.5;
  const double top = static_cast<double>(panel.values.rows()) - 0.5;
  for (const int row : panel.row_borders) border(-0.5, row - 0.5, right, row - 0.5);
  for (const int col : panel.col_borders) border(col - 0.5, -0.5, col - 0.5, top);
  place.x()->grid()->setVisible(false);
  place.y()->grid()->setVisible(false);
}

void add_cloud(const PanelPlace& place, const CloudPanel& panel) {
  CloudLook look;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, panel.class_names.size()); ++i) {
    QColor colour = place.theme->class_colour(i, place.num_classes);
    colour.setAlphaF(0.75F);
    look.colours.push_back(colour);
  }
  // Few points are large, many are small; both can be seen.
  const auto count = static_cast<double>(std::max<std::size_t>(panel.x.size(), 1));
  look.diameter = units(std::clamp(30.0 / std::sqrt(count), 0.35, 3.0));
  look.raster_dpi = place.theme->style().rasterise_points ? place.theme->style().dpi : 0;
  new CloudPlottable(place.x(), place.y(), panel, std::move(look));
  place.x()->grid()->setVisible(false);
  place.y()->grid()->setVisible(false);
}

void add_bars(const PanelPlace& place, const BarPanel& panel) {
  const auto count = static_cast<double>(panel.series.size());
  const double width = 0.8 / count;
  for (std::size_t s = 0; s < panel.series.size(); ++s) {
    const BarPanel::Series& series = panel.series[s];
    auto* const bars = new QCPBars(place.x(), place.y());
    bars->setWidth(0.9 * width);
    bars->setPen(Qt::NoPen);
    bars->setBrush(place.theme->class_colour(series.look.colour, place.num_classes));
    QVector<double> keys;
    for (std::size_t g = 0; g < series.values.size(); ++g) {
      keys.push_back(static_cast<double>(g) + (static_cast<double>(s) - (count - 1) / 2) * width);
    }
    bars->setData(keys, to_qvector(series.values), true);
    if (series.low.empty()) continue;
    auto* const errors = new QCPErrorBars(place.x(), place.y());
    errors->setDataPlottable(bars);
    errors->setPen(QPen(place.theme->ink(), units(0.6)));
    errors->setWhiskerWidth(units(2.5));
    QVector<double> minus;
    QVector<double> plus;
    for (std::size_t g = 0; g < series.values.size(); ++g) {
      minus.push_back(series.values[g] - series.low[g]);
      plus.push_back(series.high[g] - series.values[g]);
    }
    errors->setData(minus, plus);
  }
}

void dress_axes(const PanelPlace& place, const FigurePanel& panel) {
  dress_axis(*place.x(), panel.x, *place.theme);
  dress_axis(*place.y(), panel.y, *place.theme);
  place.x()->grid()->setVisible(false);
  if (const auto* const map = std::get_if<MapPanel>(&panel.content)) {
    place.x()->setRange(panel.x.min.value_or(-0.5),
                        panel.x.max.value_or(static_cast<double>(map->values.cols()) - 0.5));
    place.y()->setRange(panel.y.min.value_or(-0.5),
                        panel.y.max.value_or(static_cast<double>(map->values.rows()) - 0.5));
    return;
  }
  const Extents extents = extents_of(panel);
  place.x()->setRange(range_of(panel.x, extents.x));
  QCPRange y = range_of(panel.y, extents.y);
  if (std::holds_alternative<BarPanel>(panel.content) && !panel.y.min) y.lower = 0.0;
  place.y()->setRange(y);
}

}  // namespace lime
