// SPDX-License-Identifier: Apache-2.0
#include "viz/figure_scene.h"

#include <qcustomplot.h>

#include "viz/figure_layout.h"
#include "viz/figure_size.h"
#include "viz/plots/dots_plottable.h"
#include "viz/plots/heatmap_plottable.h"
#include "viz/plots/panel_builder.h"
#include "viz/plots/plot_theme.h"

namespace lime {
namespace {

int units_of_mm(double mm) { return static_cast<int>(std::lround(mm * kUnitsPerMm)); }

/// Settles `layout` at the height of the page, or if that is unset or only a limit, at the height
/// that its panels need; returns it.
int settle_fitting(FigureLayout& layout, const FigureSize& page, const FigureStyle& style) {
  const int requested = layout.fitting_height();
  const std::optional<double> most_mm = page.height_mm ? page.height_mm : page.max_height_mm;
  const int most = most_mm ? units_of_mm(*most_mm) : requested;
  const int height = page.height_mm ? most : std::min(requested, most);
  layout.settle(height);
  if (requested <= most || layout.is_readable()) return height;
  throw InvalidArgument(
      OptionName("size"),
      "the page is {:.4g} mm high, the figure needs {:.0f} mm; show less (--panel, --by, "
      "--label, --layer), or set only a width, e.g. --size {:.4g}",
      *most_mm * style.magnification(), requested / kUnitsPerMm * style.magnification(),
      page.width_mm * style.magnification());
}

constexpr int kFitRounds = 3;

/// A plot that is laid out and painted but never shown. Otherwise it would redraw itself in the
/// event loop, into buffers as large as the figure in tenths of a point.
class SilentPlot : public QCustomPlot {
 public:
  SilentPlot() { mReplotting = true; }
};

/// Disables round joins, which are slow to draw and invisible on screen.
void draw_fast(QCPGraph& graph) {
  QPen pen = graph.pen();
  pen.setJoinStyle(Qt::BevelJoin);
  graph.setPen(pen);
}

/// Draws the plot into `device`, translated by `origin` in its pixels, then scaled.
void draw(QCustomPlot& plot, const QSize& size, QPaintDevice& device, const QPointF& origin,
          double scale) {
  QCPPainter painter;
  if (!painter.begin(&device)) throw IoError("figure: cannot draw");
  painter.setMode(QCPPainter::pmVectorized);
  painter.setMode(QCPPainter::pmNoCaching);
  painter.translate(origin);
  painter.scale(scale, scale);
  plot.toPainter(&painter, size.width(), size.height());
  painter.end();
}

void check_figure(const Figure& figure, const FigureStyle& style) {
  style.validate();
  throw_if(figure.panels.empty(), "figure: '{}' has no panels, expected at least one", figure.name);
}

std::optional<FigureHit::Cell> cell_at(const HeatmapPanel& map, double x, double y) {
  const double col = std::round(x);
  const double row = std::round(y);
  if (!(row >= 0.0 && row < static_cast<double>(map.values.rows()) && col >= 0.0 &&
        col < static_cast<double>(map.values.cols()))) {
    return std::nullopt;
  }
  const FigureHit::Cell cell{static_cast<int>(row), static_cast<int>(col)};
  if (!std::isfinite(map.values(cell.row, cell.col))) return std::nullopt;
  return cell;
}

/// Returns the bar whose group and offset within the group match `y`, as drawn by add_content().
std::optional<FigureHit::Point> bar_at(const BarPanel& bars, double y) {
  if (bars.groups.empty() || bars.series.empty()) return std::nullopt;
  const auto groups = static_cast<double>(bars.groups.size());
  const auto count = static_cast<double>(bars.series.size());
  const double group = std::round(groups - 1.0 - y);
  const double series = (groups - 1.0 - group - y) / (0.8 / count) + (count - 1.0) / 2.0;
  if (!(group >= 0.0 && group < groups && series > -0.5 && series < count - 0.5)) {
    return std::nullopt;
  }
  return FigureHit::Point{static_cast<std::size_t>(std::lround(series)),
                          static_cast<std::size_t>(group)};
}

}  // namespace

struct FigureScene::Impl {
  Impl(const Figure& shown, const FigureStyle& style) : figure(shown), theme(style) {}

  void lay_out(int width, std::optional<int> height) {
    layout.reset();
    plot = std::make_unique<SilentPlot>();
    layout = std::make_unique<FigureLayout>(*plot, figure, theme, width, height);
    size.setWidth(width);
  }
  QCPAxis* axis(std::size_t panel, QCPAxis::AxisType type) const {
    return layout->axes_of(panel)->axis(type);
  }

  const Figure& figure;
  PlotTheme theme;
  std::unique_ptr<QCustomPlot> plot;
  std::unique_ptr<FigureLayout> layout;
  QSize size;
};

FigureScene::FigureScene(const Figure& figure, const FigureStyle& style)
    : impl_(std::make_unique<Impl>(figure, style)) {
  check_figure(figure, style);
  const FigureSize requested = figure_size(style, figure.is_wide);
  std::optional<int> height;
  if (requested.height_mm) height = units_of_mm(*requested.height_mm);
  impl_->lay_out(units_of_mm(requested.width_mm), height);
  impl_->size.setHeight(settle_fitting(*impl_->layout, requested, style));
}

FigureScene::FigureScene(const Figure& figure, const FigureStyle& style, const QSize& room,
                         bool keeps_aspect)
    : impl_(std::make_unique<Impl>(figure, style)) {
  check_figure(figure, style);
  impl_->lay_out(room.width(), room.height());
  int height = room.height();
  for (int round = 0; keeps_aspect && round < kFitRounds; ++round) {
    height = impl_->layout->fitting_height();
    const int missing = height - room.height();
    if (missing <= 0) break;
    // Text keeps its size: only the panels shrink, each column in proportion.
    const double aspect = std::max(0.05, figure.panel_aspect);
    const int rows =
        (static_cast<int>(figure.panels.size()) + figure.columns - 1) / std::max(1, figure.columns);
    const int narrower = static_cast<int>(missing * figure.columns / (aspect * rows));
    impl_->lay_out(std::max(impl_->size.width() / 4, impl_->size.width() - narrower),
                   room.height());
    height = room.height();
  }
  impl_->layout->settle(height);
  impl_->size.setHeight(height);
  for (int i = 0; i < impl_->plot->plottableCount(); ++i) {
    QCPAbstractPlottable* const drawn = impl_->plot->plottable(i);
    if (auto* const map = dynamic_cast<HeatmapPlottable*>(drawn)) map->rasterize();
    if (auto* const dots = dynamic_cast<DotsPlottable*>(drawn)) dots->draw_as_stamps();
    if (auto* const graph = dynamic_cast<QCPGraph*>(drawn)) draw_fast(*graph);
  }
}

FigureScene::~FigureScene() = default;

QSize FigureScene::size() const { return impl_->size; }
QColor FigureScene::ground() const { return impl_->theme.ground(); }

bool FigureScene::has_axes(std::size_t panel) const {
  return panel < impl_->figure.panels.size() && impl_->layout->axes_of(panel) != nullptr;
}

PanelRange FigureScene::range(std::size_t panel) const {
  const QCPRange x = impl_->axis(panel, QCPAxis::atBottom)->range();
  const QCPRange y = impl_->axis(panel, QCPAxis::atLeft)->range();
  return {x.lower, x.upper, y.lower, y.upper};
}

void FigureScene::set_range(std::size_t panel, const PanelRange& range) {
  impl_->axis(panel, QCPAxis::atBottom)->setRange(range.x_low, range.x_high);
  impl_->axis(panel, QCPAxis::atLeft)->setRange(range.y_low, range.y_high);
}

QRectF FigureScene::area(std::size_t panel) const {
  return QRectF(impl_->layout->axes_of(panel)->rect());
}

QPointF FigureScene::to_axes(std::size_t panel, const QPointF& place) const {
  return {impl_->axis(panel, QCPAxis::atBottom)->pixelToCoord(place.x()),
          impl_->axis(panel, QCPAxis::atLeft)->pixelToCoord(place.y())};
}

QPointF FigureScene::to_scene(std::size_t panel, const QPointF& point) const {
  return {impl_->axis(panel, QCPAxis::atBottom)->coordToPixel(point.x()),
          impl_->axis(panel, QCPAxis::atLeft)->coordToPixel(point.y())};
}

std::string FigureScene::legend_label(const QPointF& place) const {
  const LegendElement* const legend = impl_->layout->legend();
  const std::string* const label = legend == nullptr ? nullptr : legend->label_at(place);
  return label == nullptr ? std::string() : *label;
}

std::optional<FigureHit> FigureScene::hit(const QPointF& place, double reach) const {
  for (std::size_t i = 0; i < impl_->figure.panels.size(); ++i) {
    const QCPAxisRect* const rect = impl_->layout->axes_of(i);
    if (rect == nullptr || !rect->rect().contains(place.toPoint())) continue;
    FigureHit hit;
    hit.panel = i;
    const QCPAxis& below = *rect->axis(QCPAxis::atBottom);
    const QCPAxis& beside = *rect->axis(QCPAxis::atLeft);
    hit.x = below.pixelToCoord(place.x());
    hit.y = beside.pixelToCoord(place.y());
    double nearest = reach * reach;
    const auto offer = [&](double x, double y, FigureHit::Point point) {
      if (!std::isfinite(x) || !std::isfinite(y)) return;
      const double dx = below.coordToPixel(x) - place.x();
      const double dy = beside.coordToPixel(y) - place.y();
      if (!(dx * dx + dy * dy <= nearest)) return;
      nearest = dx * dx + dy * dy;
      hit.point = point;
    };
    const auto& content = impl_->figure.panels[i].content;
    if (const auto* const map = std::get_if<HeatmapPanel>(&content)) {
      hit.cell = cell_at(*map, hit.x, hit.y);
    } else if (const auto* const curves = std::get_if<CurvePanel>(&content)) {
      for (std::size_t c = 0; c < curves->curves.size(); ++c) {
        const Curve& curve = curves->curves[c];
        for (std::size_t p = 0; p < curve.x.size(); ++p) offer(curve.x[p], curve.y[p], {c, p});
      }
    } else if (const auto* const points = std::get_if<ScatterPanel>(&content)) {
      for (std::size_t p = 0; p < points->x.size(); ++p) {
        offer(static_cast<double>(points->x[p]), static_cast<double>(points->y[p]), {0, p});
      }
    } else if (const auto* const bars = std::get_if<BarPanel>(&content)) {
      hit.point = bar_at(*bars, hit.y);
    }
    return hit;
  }
  return std::nullopt;
}

void FigureScene::refresh_map(std::size_t panel) {
  const auto& changed = std::get<HeatmapPanel>(impl_->figure.panels[panel].content);
  for (QCPAbstractPlottable* const drawn : impl_->layout->axes_of(panel)->plottables()) {
    if (auto* const map = dynamic_cast<HeatmapPlottable*>(drawn)) map->set_panel(changed);
  }
}

void FigureScene::paint(QPaintDevice& device, const QPointF& origin, double scale, bool is_quick) {
  impl_->plot->setNotAntialiasedElements(is_quick ? QCP::aePlottables : QCP::aeNone);
  draw(*impl_->plot, impl_->size, device, origin, scale);
}

}  // namespace lime
