// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/figure_view.h"

#include <QElapsedTimer>
#include <QPainter>
#include <QTimer>
#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "viz/plot_theme.h"

namespace lime::explorer {
namespace {

constexpr double kNearest = 1e-4;  // the part of an axis that is still shown
constexpr int kBandAlpha = 48;     // of a mark on curves
constexpr double kReachPx = 8.0;   // of the mouse around points
constexpr int kRestMs = 150;       // after which a figure does not move any more
constexpr qint64 kSlowMs = 10;     // to draw: more is not smooth

/// `wanted` moved and cut so that it stays within `all`.
AxisWindow within(const AxisWindow& wanted, const AxisWindow& all) {
  const double whole = all.high - all.low;
  if (wanted.high - wanted.low >= whole) return all;  // and not but for rounding
  const double size = std::clamp(wanted.high - wanted.low, kNearest * whole, whole);
  const double middle = 0.5 * (wanted.low + wanted.high);
  const double low = std::clamp(middle - 0.5 * size, all.low, all.high - size);
  return {low, low + size};
}

AxisWindow windowOf(const PanelRange& range, Qt::Orientation axis) {
  return axis == Qt::Horizontal ? AxisWindow{range.x_low, range.x_high}
                                : AxisWindow{range.y_low, range.y_high};
}

void setWindow(PanelRange& range, Qt::Orientation axis, const AxisWindow& window) {
  (axis == Qt::Horizontal ? range.x_low : range.y_low) = window.low;
  (axis == Qt::Horizontal ? range.x_high : range.y_high) = window.high;
}

}  // namespace

FigureView::FigureView(QWidget* parent) : QWidget(parent), rest_(new QTimer(this)) {
  rest_->setSingleShot(true);
  rest_->setInterval(kRestMs);
  connect(rest_, &QTimer::timeout, this, [this] {
    if (!is_rough_) return;
    is_stale_ = true;
    update();
  });
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
}

FigureView::~FigureView() = default;

void FigureView::setFigure(std::optional<Figure> figure) {
  const std::size_t before = figure_ ? figure_->panels.size() : 0;
  figure_ = std::move(figure);
  const std::size_t after = figure_ ? figure_->panels.size() : 0;
  if (before != after) zoom_.assign(after, std::nullopt);
  marks_.clear();
  forgetScene();
}

void FigureView::updateMap(std::size_t panel, MatrixD values, std::vector<MapPanel::Mark> marks) {
  auto& map = std::get<MapPanel>(figure_->panels[panel].content);
  map.values = std::move(values);
  map.marks = std::move(marks);
  if (scene_) scene_->refresh_map(panel);
  is_stale_ = true;
  update();
}

void FigureView::setMessage(const QString& message) {
  message_ = message;
  if (!figure_) update();
}

void FigureView::setFigureStyle(const FigureStyle& style) {
  style_ = style;
  forgetScene();
}

void FigureView::setKeepsAspect(bool keeps) {
  keeps_aspect_ = keeps;
  forgetScene();
}

void FigureView::setDrag(Drag drag) {
  drag_ = drag;
  setCursor(drag == Drag::kLasso ? Qt::CrossCursor : Qt::ArrowCursor);
}

void FigureView::setMarks(std::vector<FigureMark> marks) {
  marks_ = std::move(marks);
  update();
}

void FigureView::forgetScene() {
  scene_.reset();
  is_stale_ = true;
  update();
}

FigureScene* FigureView::scene() {
  if (!scene_ && figure_ && !figure_->panels.empty()) {
    problem_.clear();
    try {
      layOut();
    } catch (const Error& error) {
      problem_ = toQString(error);
    }
  }
  return scene_.get();
}

void FigureView::layOut() {
  scale_ = logicalDpiX() / kUnitsPerInch;
  const QSize room = (QSizeF(size()) / scale_).toSize().expandedTo(QSize(1, 1));
  scene_ = std::make_unique<FigureScene>(*figure_, style_, room, keeps_aspect_);
  const QSizeF left = QSizeF(room - scene_->size()) * scale_;
  // Below its caption, in the middle between the sides.
  origin_ = QPointF(std::round(0.5 * left.width()), 0.0);
  all_.clear();
  for (std::size_t p = 0; p < figure_->panels.size(); ++p) {
    all_.push_back(scene_->has_axes(p) ? scene_->range(p) : PanelRange{});
    keepWithin(p);
    applyRange(p);
  }
  for (const AxisLink& link : links_) hearLink(link.quantity);
}

void FigureView::keepWithin(std::size_t panel) {
  if (!zoom_[panel]) return;
  for (const auto axis : {Qt::Horizontal, Qt::Vertical}) {
    setWindow(*zoom_[panel], axis,
              within(windowOf(*zoom_[panel], axis), windowOf(all_[panel], axis)));
  }
}

PanelRange FigureView::rangeOf(std::size_t panel) const {
  return zoom_[panel].value_or(all_[panel]);
}

void FigureView::applyRange(std::size_t panel) {
  if (scene_->has_axes(panel)) scene_->set_range(panel, rangeOf(panel));
  is_stale_ = true;
  update();
}

void FigureView::setRange(std::size_t panel, PanelRange range) {
  for (const auto axis : {Qt::Horizontal, Qt::Vertical}) {
    setWindow(range, axis, within(windowOf(range, axis), windowOf(all_[panel], axis)));
  }
  zoom_[panel] = range == all_[panel] ? std::nullopt : std::optional(range);
  rest_->start();
  applyRange(panel);
  tellLinks(panel);
}

FigureWindows FigureView::windows() const {
  FigureWindows windows{zoom_, {}};
  for (const AxisLink& link : links_) {
    windows.linked.emplace_back(link.quantity, workspace_->window(link.quantity));
  }
  return windows;
}

void FigureView::setWindows(const FigureWindows& windows) {
  if (windows.panels.size() == zoom_.size()) {
    zoom_ = windows.panels;
    for (std::size_t p = 0; scene_ && p < zoom_.size(); ++p) {
      keepWithin(p);  // the figure may be another one now
      applyRange(p);
    }
  }
  if (workspace_ == nullptr) return;
  for (const auto& [quantity, window] : windows.linked) workspace_->setWindow(quantity, window);
}

void FigureView::changeWindows(const QString& what, const std::function<void()>& change) {
  const FigureWindows before = windows();
  change();
  if (!(windows() == before)) Q_EMIT windowsChanged(what, before);
}

void FigureView::linkAxes(Workspace& workspace, std::vector<AxisLink> links) {
  if (workspace_ == nullptr) {
    connect(&workspace, &Workspace::windowChanged, this, &FigureView::hearLink);
  }
  workspace_ = &workspace;
  links_ = std::move(links);
  for (const AxisLink& link : links_) hearLink(link.quantity);
}

void FigureView::linkAllPanels(Workspace& workspace, const QString& quantity, double origin) {
  std::vector<AxisLink> links;
  for (std::size_t p = 0; figure_ && p < figure_->panels.size(); ++p) {
    links.push_back({.panel = p, .quantity = quantity, .origin = origin});
  }
  linkAxes(workspace, std::move(links));
}

void FigureView::tellLinks(std::size_t panel) {
  if (workspace_ == nullptr || telling_) return;
  telling_ = panel;
  for (const AxisLink& link : links_) {
    if (link.panel != panel) continue;
    const AxisWindow shown = windowOf(rangeOf(panel), link.axis);
    const auto value = [&](double c) { return link.origin + (link.is_reversed ? -c : c); };
    if (shown == windowOf(all_[panel], link.axis)) {
      workspace_->setWindow(link.quantity, std::nullopt);
    } else {
      const double low = value(shown.low);
      const double high = value(shown.high);
      workspace_->setWindow(link.quantity, AxisWindow{std::min(low, high), std::max(low, high)});
    }
  }
  telling_.reset();
}

void FigureView::hearLink(const QString& quantity) {
  if (!scene_ || workspace_ == nullptr) return;
  for (const AxisLink& link : links_) {
    if (link.quantity != quantity || !scene_->has_axes(link.panel)) continue;
    if (telling_ == link.panel) continue;
    AxisWindow shown = windowOf(all_[link.panel], link.axis);
    if (const std::optional<AxisWindow> window = workspace_->window(quantity)) {
      const auto coord = [&](double v) {
        return link.is_reversed ? link.origin - v : v - link.origin;
      };
      const double low = coord(window->low);
      const double high = coord(window->high);
      shown = within({std::min(low, high), std::max(low, high)}, shown);
    }
    PanelRange range = rangeOf(link.panel);
    setWindow(range, link.axis, shown);
    zoom_[link.panel] = range == all_[link.panel] ? std::nullopt : std::optional(range);
    applyRange(link.panel);
  }
}

PanelRange FigureView::zoomedAbout(const FigureHit& hit, PanelRange range, double factor,
                                   Qt::KeyboardModifiers modifiers) {
  const auto scale = [&](Qt::Orientation axis, double fixed) {
    const AxisWindow window = windowOf(range, axis);
    setWindow(range, axis,
              {fixed - (fixed - window.low) / factor, fixed + (window.high - fixed) / factor});
  };
  if (!modifiers.testFlag(Qt::ShiftModifier)) scale(Qt::Horizontal, hit.x);
  if (!modifiers.testFlag(Qt::ControlModifier)) scale(Qt::Vertical, hit.y);
  return range;
}

void FigureView::showAll() {
  if (scene() == nullptr) return;
  changeWindows(QStringLiteral("Show all"), [this] {
    for (std::size_t p = 0; p < figure_->panels.size(); ++p) {
      if (scene_->has_axes(p)) setRange(p, all_[p]);
    }
  });
}

bool FigureView::isZoomed() const {
  return std::any_of(zoom_.begin(), zoom_.end(), [](const auto& zoom) { return zoom.has_value(); });
}

QPointF FigureView::toUnits(const QPointF& position) const { return (position - origin_) / scale_; }

std::optional<FigureHit> FigureView::hitAt(const QPointF& position) {
  if (scene() == nullptr) return std::nullopt;
  return scene_->hit(toUnits(position), kReachPx / scale_);
}

QPointF FigureView::toPixel(std::size_t panel, const QPointF& point) {
  if (scene() == nullptr || !scene_->has_axes(panel)) return {};
  return scene_->to_scene(panel, point) * scale_ + origin_;
}

QRectF FigureView::panelArea(std::size_t panel) {
  if (scene() == nullptr || !scene_->has_axes(panel)) return {};
  const QRectF area = scene_->area(panel);
  return {area.topLeft() * scale_ + origin_, area.size() * scale_};
}

void FigureView::paintScene() {
  const double ratio = devicePixelRatioF();
  const QSize pixels(static_cast<int>(std::ceil(width() * ratio)),
                     static_cast<int>(std::ceil(height() * ratio)));
  if (image_.size() != pixels) image_ = QImage(pixels, QImage::Format_RGB32);
  image_.setDevicePixelRatio(1.0);
  image_.fill(scene_->ground());
  // What is slow to draw gets rough edges while it moves, and is drawn well when it rests.
  is_rough_ = is_slow_ && rest_->isActive();
  QElapsedTimer timer;
  timer.start();
  scene_->paint(image_, origin_ * ratio, scale_ * ratio, is_rough_);
  if (!is_rough_) is_slow_ = timer.elapsed() > kSlowMs;
  image_.setDevicePixelRatio(ratio);
  is_stale_ = false;
}

void FigureView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (scene() == nullptr) {
    painter.fillRect(rect(), palette().color(QPalette::Base));
    paintMessage(painter);
    return;
  }
  if (is_stale_) paintScene();
  painter.drawImage(QPointF(0.0, 0.0), image_);
  paintMarks(painter);
  if (lasso_.size() > 1) {
    painter.setRenderHint(QPainter::Antialiasing);
    QColor fill = palette().color(QPalette::Highlight);
    painter.setPen(QPen(fill, 1.5, Qt::DashLine));
    fill.setAlpha(40);
    painter.setBrush(fill);
    painter.drawPolygon(lasso_);
  }
}

void FigureView::paintMessage(QPainter& painter) const {
  const QRect area = rect().adjusted(24, 24, -24, -24);
  painter.setPen(palette().color(QPalette::PlaceholderText));
  painter.drawText(area, Qt::AlignCenter | Qt::TextWordWrap,
                   problem_.isEmpty() ? message_ : problem_);
}

void FigureView::paintMarks(QPainter& painter) {
  painter.setRenderHint(QPainter::Antialiasing, false);
  for (const FigureMark& mark : marks_) {
    if (!figure_ || mark.panel >= figure_->panels.size()) continue;
    const QRectF area(toPixel(mark.panel, mark.area.topLeft()),
                      toPixel(mark.panel, mark.area.bottomRight()));
    if (std::holds_alternative<CurvePanel>(figure_->panels[mark.panel].content)) {
      // Curves are seen through it.
      QColor band = palette().color(QPalette::Highlight);
      band.setAlpha(kBandAlpha);
      painter.fillRect(area.normalized() & panelArea(mark.panel), band);
      continue;
    }
    painter.setClipRect(panelArea(mark.panel).adjusted(-2.0, -2.0, 2.0, 2.0));
    const bool dark = style_.theme == FigureTheme::kDark;
    // Two lines, so that one of them is seen on cells of any colour.
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(dark ? QColor(20, 20, 20) : QColor(255, 255, 255), 1.0));
    painter.drawRect(area.normalized().adjusted(-1.0, -1.0, 1.0, 1.0));
    painter.setPen(
        QPen(dark ? QColor(245, 245, 245) : QColor(20, 20, 20), mark.is_strong ? 2.0 : 1.0));
    painter.drawRect(area.normalized());
    painter.setClipping(false);
  }
}

void FigureView::resizeEvent(QResizeEvent*) { forgetScene(); }

void FigureView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) forgetScene();
  QWidget::changeEvent(event);
}

}  // namespace lime::explorer
