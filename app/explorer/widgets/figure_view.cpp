// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/figure_view.h"

#include <QElapsedTimer>
#include <QEvent>
#include <QPainter>
#include <QTimer>
#include <QToolTip>
#include <cmath>

#include "viz/plots/plot_theme.h"

namespace lime::explorer {
namespace {

constexpr int kBandAlpha = 48;    // of a mark on curves
constexpr double kReachPx = 8.0;  // of the mouse around points
constexpr int kStillMs = 150;     // after which a figure counts as at rest
constexpr qint64 kSlowMs = 10;    // to draw: more is not smooth

}  // namespace

FigureView::FigureView() : rest_(new QTimer(this)) {
  rest_->setSingleShot(true);
  rest_->setInterval(kStillMs);
  connect(rest_, &QTimer::timeout, this, [this] {
    if (is_rough_) redraw();
  });
  connect(&ranges_, &PanelRanges::changed, this, &FigureView::redraw);
}

FigureView::~FigureView() = default;

void FigureView::setFigure(std::optional<Figure> figure) {
  figure_ = std::move(figure);
  ranges_.setNumPanels(figure_ ? figure_->panels.size() : 0);
  marks_.clear();
  resetScene();
}

void FigureView::updateMap(std::size_t panel, MatrixD values,
                           std::vector<HeatmapPanel::Mark> marks) {
  auto& map = std::get<HeatmapPanel>(figure_->panels[panel].content);
  map.values = std::move(values);
  map.marks = std::move(marks);
  if (scene_) scene_->refresh_map(panel);
  redraw();
}

void FigureView::setMessage(const QString& message) {
  message_ = message;
  if (!figure_) update();
}

void FigureView::setFigureStyle(const FigureStyle& style) {
  style_ = style;
  resetScene();
}

void FigureView::setKeepsAspect(bool keeps) {
  keeps_aspect_ = keeps;
  resetScene();
}

void FigureView::setMarks(std::vector<FigureMark> marks) {
  marks_ = std::move(marks);
  update();
}

void FigureView::markColumn(std::optional<double> x, double width) {
  constexpr double kFar = 1e5;  // beyond any curve
  std::vector<FigureMark> marks;
  for (std::size_t p = 0; x && figure_ && p < figure_->panels.size(); ++p) {
    marks.push_back({.panel = p,
                     .area = QRectF(*x - 0.5 * width, -kFar, width, 2.0 * kFar),
                     .is_strong = false});
  }
  setMarks(std::move(marks));
}

void FigureView::redraw() {
  is_stale_ = true;
  update();
}

void FigureView::resetScene() {
  ranges_.setScene(nullptr);
  scene_.reset();
  redraw();
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
  ranges_.setScene(scene_.get());
}

void FigureView::changeWindows(const QString& what, const std::function<void()>& change) {
  const FigureWindows before = windows();
  rest_->start();
  change();
  if (!(windows() == before)) Q_EMIT windowsChanged(what, before);
}

void FigureView::linkAxes(Workspace& workspace, std::vector<AxisLink> links) {
  ranges_.linkAxes(workspace, std::move(links));
}

void FigureView::linkAllPanels(Workspace& workspace, const QString& quantity, double origin) {
  std::vector<AxisLink> links;
  for (std::size_t p = 0; figure_ && p < figure_->panels.size(); ++p) {
    links.push_back({.panel = p, .quantity = quantity, .origin = origin});
  }
  linkAxes(workspace, std::move(links));
}

void FigureView::changePanels(
    const QString& what,
    const std::function<void(std::size_t panel, const PanelRange& range)>& change) {
  if (scene() == nullptr) return;
  // A linked panel follows the previous one, so all are changed from their current ranges.
  std::vector<PanelRange> ranges;
  for (std::size_t p = 0; p < ranges_.size(); ++p) ranges.push_back(ranges_.at(p));
  changeWindows(what, [&] {
    for (std::size_t p = 0; p < ranges.size(); ++p) {
      if (ranges_.hasAxes(p)) change(p, ranges[p]);
    }
  });
}

void FigureView::zoom(double factor) {
  changePanels(zoomText(), [&](std::size_t panel, const PanelRange& range) {
    FigureHit middle;
    middle.panel = panel;
    middle.x = 0.5 * (range.x_low + range.x_high);
    middle.y = 0.5 * (range.y_low + range.y_high);
    ranges_.zoomAbout(middle, range, factor);
  });
}

void FigureView::showAll() {
  if (scene() == nullptr) return;
  changeWindows(u"Show all"_s, [this] { ranges_.showAll(); });
}

void FigureView::pointAt(const QPointF& position) {
  if (const std::optional<FigureHit> hit = hitAt(position)) {
    Q_EMIT hovered(*hit);
    if (!describe_) return;
    const QString text = describe_(*hit);
    Q_EMIT status(text);
    // A part in each line: the tool tip must not cover the figure.
    QToolTip::showText(mapToGlobal(position.toPoint()),
                       QString(text).replace(": "_L1, "\n"_L1).replace("; "_L1, "\n"_L1), this);
  } else {
    leaveEvent(nullptr);
  }
}

void FigureView::leaveEvent(QEvent*) { Q_EMIT status({}); }

void FigureView::clickAt(const QPointF& position, Qt::KeyboardModifiers modifiers) {
  if (const std::optional<FigureHit> hit = hitAt(position)) Q_EMIT clicked(*hit, modifiers);
  if (const QString label = legendLabelAt(position); !label.isEmpty()) Q_EMIT legendClicked(label);
}

bool FigureView::zoomAt(const QPointF& position, double factor, Qt::KeyboardModifiers modifiers) {
  const std::optional<FigureHit> hit = hitAt(position);
  if (!hit) return false;
  changeWindows(zoomText(),
                [&] { ranges_.zoomAbout(*hit, ranges_.at(hit->panel), factor, modifiers); });
  return true;
}

void FigureView::moveBy(const QPointF& step) {
  changePanels(moveText(), [&](std::size_t panel, const PanelRange& range) {
    const QRectF area = panelArea(panel);
    const QPointF way(step.x() * area.width(), step.y() * area.height());
    move(panel, range, area.center() + way, area.center());
  });
}

void FigureView::move(std::size_t panel, PanelRange range, const QPointF& from, const QPointF& to) {
  const QPointF moved = scene_->to_axes(panel, toUnits(from)) - scene_->to_axes(panel, toUnits(to));
  range.x_low += moved.x();
  range.x_high += moved.x();
  range.y_low += moved.y();
  range.y_high += moved.y();
  ranges_.set(panel, range);
}

bool FigureView::beginDrag(const QPointF& position) {
  if (button() != Qt::LeftButton) return false;
  const std::optional<FigureHit> hit = hitAt(position);
  dragged_panel_ = hit ? std::optional(hit->panel) : std::nullopt;
  before_drag_ = windows();
  return true;
}

void FigureView::drag(const QPointF& from, const QPointF& to) {
  if (!dragged_panel_ || scene() == nullptr) return;
  rest_->start();
  move(*dragged_panel_, ranges_.at(*dragged_panel_), from, to);
}

void FigureView::endDrag(Qt::KeyboardModifiers) {
  if (!(windows() == before_drag_)) Q_EMIT windowsChanged(moveText(), before_drag_);
}

QPointF FigureView::toUnits(const QPointF& position) const { return (position - origin_) / scale_; }

std::optional<FigureHit> FigureView::hitAt(const QPointF& position) {
  if (scene() == nullptr) return std::nullopt;
  return scene_->hit(toUnits(position), kReachPx / scale_);
}

QString FigureView::legendLabelAt(const QPointF& position) {
  return scene() == nullptr ? QString() : toQString(scene_->legend_label(toUnits(position)));
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
  // A slow figure is drawn without antialiasing while it moves.
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

void FigureView::resizeEvent(QResizeEvent*) { resetScene(); }

void FigureView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) resetScene();
  QWidget::changeEvent(event);
}

}  // namespace lime::explorer
