// SPDX-License-Identifier: Apache-2.0
#include "viz/plots/panel_builder.h"

#include <QFontMetricsF>
#include <numeric>

#include "viz/class_colours.h"
#include "viz/colour.h"
#include "viz/plots/dots_plottable.h"
#include "viz/plots/heatmap_plottable.h"
#include "viz/plots/range_plottable.h"
#include "viz/plots/scatter_plottable.h"

namespace lime {
namespace {

QVector<double> to_qvector(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

constexpr std::size_t kManyDots = 500;  // from this number on, dots are drawn together
constexpr double kMarkerSize = 3.4;     // to be passed to units()

bool is_many_dots(const Curve& curve) {
  return curve.style.pattern == LinePattern::kNone && curve.style.marker == MarkerShape::kDisc &&
         curve.spread != Curve::Spread::kBars && curve.x.size() >= kManyDots;
}

/// @param line  of the curve, whose width and colour the outline has
QCPScatterStyle scatter_style(MarkerShape shape, const QColor& colour, QPen line) {
  if (shape == MarkerShape::kNone) return QCPScatterStyle::ssNone;
  // A custom path, because QCustomPlot's own shapes have outlines of fixed width.
  const QPainterPath path = marker_path(shape, units(kMarkerSize));
  // QCustomPlot scales custom shapes by size / 6.
  if (line.style() != Qt::NoPen) line.setStyle(Qt::SolidLine);  // dashes would break the outline
  return QCPScatterStyle(path, line, QBrush(colour), 6.0);
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

/// Adds error bars along the value axis of `drawn`, without data.
QCPErrorBars* add_whiskers(QCPAbstractPlottable* drawn, const QPen& pen, double width) {
  auto* const bars = new QCPErrorBars(drawn->keyAxis(), drawn->valueAxis());
  bars->setDataPlottable(drawn);
  bars->setPen(pen);
  bars->setWhiskerWidth(width);
  bars->setSymbolGap(0);
  return bars;
}

/// Adds error bars at all points, or at the isolated points of a curve with a band.
void add_error_bars(const Curve& curve, QCPGraph* graph, const QColor& colour) {
  const std::vector<std::size_t> lone = lone_points(curve);
  const bool is_band = curve.spread == Curve::Spread::kBand;
  if (curve.spread == Curve::Spread::kNone || (is_band && lone.empty())) return;
  QVector<double> minus;
  QVector<double> plus;
  for (std::size_t i = 0; i < curve.y.size(); ++i) {
    const bool is_shown = !is_band || std::ranges::find(lone, i) != lone.end();
    minus.push_back(is_shown ? curve.y[i] - curve.low[i] : qQNaN());
    plus.push_back(is_shown ? curve.high[i] - curve.y[i] : qQNaN());
  }
  add_whiskers(graph, QPen(colour, units(0.7)), units(3))->setData(minus, plus);
}

/// Adds a text at a point of the panel.
QCPItemText* add_text_at(const PanelPlace& place, const std::string& text, const QFont& font,
                         Qt::Alignment alignment, const QMargins& padding, const QPointF& at) {
  QCPItemText* const item =
      add_text(place.plot, text, font, place.theme->ink(), alignment, padding);
  item->position->setAxes(place.x(), place.y());
  item->position->setAxisRect(place.rect);
  item->position->setCoords(at);
  return item;
}

void add_stars(const PanelPlace& place, const Curve& curve) {
  for (std::size_t i = 0; i < curve.stars.size(); ++i) {
    if (curve.stars[i].empty() || !std::isfinite(curve.y[i])) continue;
    const double y = curve.high.empty() ? curve.y[i] : curve.high[i];
    add_text_at(place, curve.stars[i], place.theme->label_font(),
                Qt::AlignHCenter | Qt::AlignBottom, QMargins(0, 0, 0, units(1.5)), {curve.x[i], y})
        ->setBrush(place.theme->ground());  // covers grid and zero line
  }
}

/// Places `position` on the line at a value across the panel, `share` of the way along it.
void fix(QCPItemPosition* position, const PanelPlace& place, Qt::Orientation direction,
         double value, double share) {
  position->setAxisRect(place.rect);
  position->setAxes(place.x(), place.y());
  const bool is_level = direction == Qt::Horizontal;
  position->setTypeX(is_level ? QCPItemPosition::ptAxisRectRatio : QCPItemPosition::ptPlotCoords);
  position->setTypeY(is_level ? QCPItemPosition::ptPlotCoords : QCPItemPosition::ptAxisRectRatio);
  position->setCoords(is_level ? share : value, is_level ? value : 1.0 - share);
}

void add_line_across(const PanelPlace& place, Qt::Orientation direction, double value,
                     const QPen& pen) {
  auto* const line = new QCPItemLine(place.plot);
  line->setPen(pen);
  line->setClipAxisRect(place.rect);
  fix(line->start, place, direction, value, 0.0);
  fix(line->end, place, direction, value, 1.0);
}

/// Adds a reference line: horizontal, or vertical if the value axis is horizontal.
void add_reference(const PanelPlace& place, const ReferenceLine& reference,
                   Qt::Orientation direction = Qt::Horizontal) {
  add_line_across(place, direction, reference.y,
                  QPen(place.theme->muted(), units(reference.is_zero ? 0.5 : 0.7),
                       reference.is_zero ? Qt::SolidLine : Qt::DashLine, Qt::FlatCap));
  if (reference.label.empty() || reference.in_legend) return;
  const Qt::Alignment side = direction == Qt::Horizontal ? Qt::AlignRight : Qt::AlignHCenter;
  QCPItemText* const text =
      add_text(place.plot, reference.label, place.theme->tick_font(), place.theme->muted(),
               side | Qt::AlignBottom, QMargins(0, 0, 0, units(1.0)));
  fix(text->position, place, direction, reference.y, 1.0);
}

constexpr double kSampleWidth = 180.0;  // of a legend line, units
constexpr double kSampleGap = 40.0;     // between sample and text
constexpr double kEntryGap = 120.0;     // between entries
constexpr double kColumnGap = 120.0;    // between columns of a table
constexpr double kLegendMarkerSize = 42.0;

QString text_of(const std::string& text) { return QString::fromStdString(text); }

/// An element of the layout with a height in units, drawn by a function of its area.
class PaintedElement : public QCPLayoutElement {
 public:
  using Paint = std::function<void(QCPPainter&, const QRectF&)>;
  PaintedElement(QCustomPlot* plot, int height, bool is_fixed, Paint paint)
      : QCPLayoutElement(plot), paint_(std::move(paint)) {
    setMinimumSize(0, height);
    if (is_fixed) setMaximumSize(QWIDGETSIZE_MAX, height);
  }

 protected:
  void draw(QCPPainter* painter) override { paint_(*painter, QRectF(rect())); }
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override {
    painter->setAntialiasing(true);
  }

 private:
  Paint paint_;
};

double sample_width(const LegendEntry& entry) {
  return entry.is_line ? kSampleWidth : kLegendMarkerSize;
}

void draw_sample(QCPPainter& painter, const LegendEntry& entry, std::size_t num_colours,
                 const PlotTheme& theme, const QRectF& area) {
  if (entry.is_line) {
    painter.setPen(theme.curve_pen(entry.style, num_colours));
    painter.drawLine(QLineF(area.left(), area.center().y(), area.right(), area.center().y()));
  }
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme.class_colour(entry.style.colour, num_colours));
  const MarkerShape marker =
      entry.is_class ? theme.class_marker(entry.style.marker) : entry.style.marker;
  painter.drawPath(marker_path(marker, kLegendMarkerSize).translated(area.center()));
}

std::vector<double> column_widths(const TablePanel& table, const PlotTheme& theme) {
  const QFontMetricsF metrics(theme.tick_font());
  std::vector<double> widths(table.head.size(), 0.0);
  const auto widen = [&](std::size_t c, const std::string& text) {
    widths[c] = std::max(widths[c], metrics.horizontalAdvance(text_of(text)));
  };
  for (std::size_t c = 0; c < widths.size(); ++c) {
    widen(c, table.head[c]);
    for (const auto& row : table.rows) widen(c, cell_text(row[c]));
  }
  return widths;
}

}  // namespace

QCPItemText* add_text(QCustomPlot* plot, const std::string& text, const QFont& font,
                      const QColor& colour, Qt::Alignment alignment, const QMargins& padding) {
  auto* const item = new QCPItemText(plot);
  item->setText(QString::fromStdString(text));
  item->setFont(font);
  item->setColor(colour);
  item->setPositionAlignment(alignment);
  item->setPadding(padding);
  item->setClipToAxisRect(false);
  return item;
}

void add_content(const PanelPlace& place, const CurvePanel& panel) {
  for (const RangeMark& range : panel.ranges) {
    new RangePlottable(place.x(), place.y(), range, panel.curves, *place.theme);
  }
  for (const ReferenceLine& reference : panel.references) add_reference(place, reference);
  for (const Curve& curve : panel.curves) {
    const QColor colour = place.theme->class_colour(curve.style.colour, place.num_classes);
    if (curve.spread == Curve::Spread::kBand) add_band(place, curve, colour);
    add_stars(place, curve);  // before the points, which their background must not cover
    if (is_many_dots(curve)) {
      new DotsPlottable(place.x(), place.y(), curve.x, curve.y, units(kMarkerSize), colour);
      continue;
    }
    QCPGraph* const graph = place.plot->addGraph(place.x(), place.y());
    graph->setData(to_qvector(curve.x), to_qvector(curve.y), true);
    graph->setPen(place.theme->curve_pen(curve.style, place.num_classes));
    graph->setScatterStyle(scatter_style(curve.style.marker, colour, graph->pen()));
    graph->setAdaptiveSampling(false);
    add_error_bars(curve, graph, colour);
  }
}

void add_content(const PanelPlace& place, const HeatmapPanel& panel) {
  new HeatmapPlottable(place.x(), place.y(), panel, place.scale, place.theme->tick_font());
  const QPen pen(place.theme->ground(), units(0.8), Qt::SolidLine, Qt::FlatCap);
  for (const int row : panel.row_borders) add_line_across(place, Qt::Horizontal, row - 0.5, pen);
  for (const int col : panel.col_borders) add_line_across(place, Qt::Vertical, col - 0.5, pen);
  place.x()->grid()->setVisible(false);
  place.y()->grid()->setVisible(false);
}

void add_content(const PanelPlace& place, const ScatterPanel& panel) {
  ScatterStyle style;
  std::vector<std::size_t> classes = class_colours(panel.class_names);
  if (classes.empty()) classes.push_back(group_colour(0));
  for (const std::size_t colour_of_class : classes) {
    QColor colour = place.theme->class_colour(colour_of_class, place.num_classes);
    colour.setAlphaF(0.75F);
    style.colours.push_back(colour);
  }
  // Few points are large, many are small, so that both remain visible.
  const auto count = static_cast<double>(std::max<std::size_t>(panel.x.size(), 1));
  style.diameter = units(std::clamp(42.0 / std::sqrt(count), 0.35, 3.0));
  for (std::size_t i = 0; i < style.colours.size(); ++i) {
    style.markers.push_back(marker_path(place.theme->class_marker(marker_of(i)), style.diameter));
  }
  const FigureStyle& of_figure = place.theme->style();
  const double dpi = of_figure.magnification() * of_figure.dpi;
  style.raster_dpi = of_figure.rasterize ? static_cast<int>(std::lround(dpi)) : 0;
  new ScatterPlottable(place.x(), place.y(), panel, std::move(style));
  place.x()->grid()->setVisible(false);
  place.y()->grid()->setVisible(false);
}

void add_content(const PanelPlace& place, const BarPanel& panel) {
  // Groups are stacked vertically, so that long names are horizontal.
  const auto count = static_cast<double>(panel.series.size());
  const auto groups = static_cast<double>(panel.groups.size());
  const double width = 0.8 / count;
  if (panel.reference) add_reference(place, *panel.reference, Qt::Vertical);
  for (std::size_t s = 0; s < panel.series.size(); ++s) {
    const BarPanel::Series& series = panel.series[s];
    auto* const bars = new QCPBars(place.y(), place.x());
    bars->setWidth(0.9 * width);
    bars->setPen(Qt::NoPen);
    bars->setBrush(place.theme->class_colour(series.style.colour, place.num_classes));
    QVector<double> keys;
    QVector<double> minus;
    QVector<double> plus;
    for (std::size_t g = 0; g < series.values.size(); ++g) {
      keys.push_front(groups - 1.0 - static_cast<double>(g) +
                      ((count - 1) / 2 - static_cast<double>(s)) * width);
      if (series.low.empty()) continue;
      minus.push_front(series.values[g] - series.low[g]);
      plus.push_front(series.high[g] - series.values[g]);
    }
    bars->setData(keys, QVector<double>(series.values.rbegin(), series.values.rend()), true);
    for (std::size_t g = 0; g < series.stars.size(); ++g) {
      if (series.stars[g].empty()) continue;
      const double end = series.high.empty() ? series.values[g] : series.high[g];
      const double key = keys[static_cast<qsizetype>(groups) - 1 - static_cast<qsizetype>(g)];
      add_text_at(place, series.stars[g], place.theme->tick_font(),
                  Qt::AlignLeft | Qt::AlignVCenter, QMargins(units(1.5), 0, 0, 0), {end, key});
    }
    if (series.low.empty()) continue;
    add_whiskers(bars, QPen(place.theme->ink(), units(0.6)), units(2.5))->setData(minus, plus);
  }
  place.y()->grid()->setVisible(false);
}

LegendElement::LegendElement(QCustomPlot* plot, const std::vector<LegendEntry>& entries,
                             std::size_t num_colours, const PlotTheme& theme, int width)
    : QCPLayoutElement(plot), num_colours_(num_colours), theme_(theme) {
  const QFontMetricsF metrics(theme.tick_font());
  const double height = theme.line_height();
  double x = 0.0;
  double y = 0.0;
  std::size_t first = 0;  // of the line
  const auto centre = [&] {
    for (std::size_t i = first; i < placed_.size(); ++i) {
      placed_[i].area.translate(-0.5 * (x - kEntryGap), 0.0);
    }
    first = placed_.size();
  };
  for (const LegendEntry& entry : entries) {
    const double sample = sample_width(entry) + kSampleGap;
    const QString text = metrics.elidedText(text_of(entry.label), Qt::ElideMiddle, width - sample);
    const double own = sample + metrics.horizontalAdvance(text);
    if (x > 0.0 && x + own > width) {
      centre();
      x = 0.0;
      y += height;
    }
    placed_.push_back({entry, text, QRectF(x, y, own, height)});
    x += own + kEntryGap;
  }
  centre();
  setMinimumSize(0, static_cast<int>(y + height));
  setMaximumSize(QWIDGETSIZE_MAX, static_cast<int>(y + height));
}

const std::string* LegendElement::label_at(const QPointF& place) const {
  const auto found = std::ranges::find_if(placed_, [&](const Placed& placed) {
    return placed.area.translated(origin()).contains(place);
  });
  return found == placed_.end() ? nullptr : &found->entry.label;
}

QPointF LegendElement::origin() const {
  const QRectF area(rect());
  return {area.center().x(), area.top()};
}

void LegendElement::draw(QCPPainter* painter) {
  painter->setFont(theme_.tick_font());
  for (const Placed& placed : placed_) {
    const QRectF area = placed.area.translated(origin());
    const double sample = sample_width(placed.entry);
    draw_sample(*painter, placed.entry, num_colours_, theme_,
                {area.left(), area.top(), sample, area.height()});
    painter->setPen(theme_.ink());
    painter->drawText(area.adjusted(sample + kSampleGap, 0.0, 1e5, 0.0),
                      Qt::AlignLeft | Qt::AlignVCenter, placed.text);
  }
}

void LegendElement::applyDefaultAntialiasingHint(QCPPainter* painter) const {
  painter->setAntialiasing(true);
}

QCPLayoutElement* new_table(QCustomPlot* plot, const TablePanel& table, const PlotTheme& theme) {
  const double height = 1.25 * theme.line_height();
  const int room = static_cast<int>(height * static_cast<double>(table.rows.size() + 1)) + units(6);
  return new PaintedElement(plot, room, true, [=](QCPPainter& painter, const QRectF& area) {
    const std::vector<double> widths = column_widths(table, theme);
    const double gaps = kColumnGap * static_cast<double>(widths.size() - 1);
    const double width = std::accumulate(widths.begin(), widths.end(), gaps);
    // A table that is too wide is scaled down as a whole.
    const double share = std::min(1.0, (area.width() - units(6)) / width);
    painter.save();
    painter.translate(area.center().x(), area.top());
    painter.scale(share, share);
    const double left = -width / 2.0;
    double y = units(2);
    const auto rule = [&](double thickness) {
      painter.setPen(QPen(theme.ink(), units(thickness)));
      painter.drawLine(QLineF(left - units(2), y, left + width + units(2), y));
      y += units(1.5);
    };
    const auto line = [&](const std::vector<TableCell>& cells) {
      double x = left;
      painter.setPen(theme.ink());
      for (std::size_t c = 0; c < widths.size(); ++c) {
        painter.drawText(QRectF(x, y, widths[c] + 10.0, height),
                         (c == 0 ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter,
                         text_of(cell_text(cells[c])));
        x += widths[c] + kColumnGap;
      }
      y += height;
    };
    painter.setFont(theme.tick_font());
    rule(0.8);
    line({table.head.begin(), table.head.end()});
    rule(0.5);
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      if (std::ranges::count(table.rules, static_cast<int>(r)) > 0) rule(0.5);
      line(table.rows[r]);
    }
    rule(0.8);
    painter.restore();
  });
}

QCPLayoutElement* new_note(QCustomPlot* plot, const std::string& text, const QFont& font,
                           const QColor& colour, int width) {
  const QRectF box =
      QFontMetricsF(font).boundingRect(QRectF(0, 0, width, 1e6), Qt::TextWordWrap, text_of(text));
  const int height = static_cast<int>(box.height()) + units(1);
  return new PaintedElement(plot, height, true, [=](QCPPainter& painter, const QRectF& area) {
    painter.setFont(font);
    painter.setPen(colour);
    painter.drawText(area, Qt::TextWordWrap | Qt::AlignHCenter | Qt::AlignTop, text_of(text));
  });
}

}  // namespace lime
