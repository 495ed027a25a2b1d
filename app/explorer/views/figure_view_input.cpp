// SPDX-License-Identifier: Apache-2.0
// Mouse and keys of a figure.
#include <QMouseEvent>
#include <QWheelEvent>
#include <cmath>
#include <utility>

#include "explorer/views/arrow_keys.h"
#include "explorer/views/figure_view.h"

namespace lime::explorer {
namespace {

constexpr double kZoomPerNotch = 1.2;

// As undo names them.
const QString kZoom = QStringLiteral("Zoom");
const QString kMoveText = QStringLiteral("Move");

}  // namespace

void FigureView::zoom(double factor) {
  if (scene() == nullptr) return;
  // Of panels that are linked each follows the one before: all are zoomed from where they are now.
  std::vector<PanelRange> ranges;
  for (std::size_t p = 0; p < figure_->panels.size(); ++p) ranges.push_back(rangeOf(p));
  changeWindows(kZoom, [&] {
    for (std::size_t p = 0; p < ranges.size(); ++p) {
      if (!scene_->has_axes(p)) continue;
      FigureHit middle;
      middle.panel = p;
      middle.x = 0.5 * (ranges[p].x_low + ranges[p].x_high);
      middle.y = 0.5 * (ranges[p].y_low + ranges[p].y_high);
      setRange(p, zoomedAbout(middle, ranges[p], factor, {}));
    }
  });
}

void FigureView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) {
    QWidget::mousePressEvent(event);
    return;
  }
  const std::optional<FigureHit> hit = hitAt(event->position());
  pressed_ = event->position();
  pressed_panel_ = hit ? std::optional(hit->panel) : std::nullopt;
  last_ = event->position();
  is_dragging_ = false;
  before_drag_ = windows();
  lasso_.clear();
}

PanelRange FigureView::movedBy(std::size_t panel, PanelRange range, const QPointF& from,
                               const QPointF& to) {
  const QPointF moved = scene_->to_axes(panel, toUnits(from)) - scene_->to_axes(panel, toUnits(to));
  range.x_low += moved.x();
  range.x_high += moved.x();
  range.y_low += moved.y();
  range.y_high += moved.y();
  return range;
}

void FigureView::mouseMoveEvent(QMouseEvent* event) {
  const QPointF position = event->position();
  if (!pressed_) {
    if (const std::optional<FigureHit> hit = hitAt(position)) {
      Q_EMIT hovered(*hit);
    } else {
      Q_EMIT unhovered();
    }
    return;
  }
  if ((position - *pressed_).manhattanLength() > 4.0) is_dragging_ = true;
  if (!is_dragging_ || !pressed_panel_ || scene() == nullptr) return;
  if (drag_ == Drag::kLasso) {
    if (lasso_.isEmpty()) lasso_ << *pressed_;
    lasso_ << position;
    update();
  } else {
    setRange(*pressed_panel_, movedBy(*pressed_panel_, rangeOf(*pressed_panel_), last_, position));
  }
  last_ = position;
}

void FigureView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !pressed_) return;
  const bool was_dragging = is_dragging_;
  pressed_.reset();
  is_dragging_ = false;
  if (!was_dragging) {
    if (const std::optional<FigureHit> hit = hitAt(event->position())) {
      Q_EMIT clicked(*hit, event->modifiers());
    }
    return;
  }
  if (drag_ == Drag::kMove && !(windows() == before_drag_)) {
    Q_EMIT windowsChanged(kMoveText, before_drag_);
  }
  if (drag_ != Drag::kLasso || lasso_.size() < 3 || !pressed_panel_ || scene() == nullptr) return;
  QPolygonF polygon;
  for (const QPointF& point : std::as_const(lasso_)) {
    polygon << scene_->to_axes(*pressed_panel_, toUnits(point));
  }
  lasso_.clear();
  update();
  Q_EMIT lassoed(*pressed_panel_, polygon, event->modifiers());
}

void FigureView::mouseDoubleClickEvent(QMouseEvent*) { showAll(); }

void FigureView::wheelEvent(QWheelEvent* event) {
  const std::optional<FigureHit> hit = hitAt(event->position());
  if (!hit) {
    event->ignore();
    return;
  }
  // Some platforms turn the wheel sideways where Alt or Shift is held.
  const QPoint turn = event->angleDelta();
  const double notches = (turn.y() != 0 ? turn.y() : turn.x()) / 120.0;
  changeWindows(kZoom, [&] {
    setRange(hit->panel, zoomedAbout(*hit, rangeOf(hit->panel), std::pow(kZoomPerNotch, notches),
                                     event->modifiers()));
  });
  event->accept();
}

void FigureView::keyPressEvent(QKeyEvent* event) {
  const QPointF step = arrowOf(*event);
  if (step.isNull() || event->modifiers() != Qt::ControlModifier || scene() == nullptr) {
    QWidget::keyPressEvent(event);
    return;
  }
  std::vector<PanelRange> ranges;
  for (std::size_t p = 0; p < figure_->panels.size(); ++p) ranges.push_back(rangeOf(p));
  changeWindows(kMoveText, [&] {
    for (std::size_t p = 0; p < ranges.size(); ++p) {
      if (!scene_->has_axes(p)) continue;
      const QRectF area = panelArea(p);
      const QPointF moved(kKeyStep * step.x() * area.width(), kKeyStep * step.y() * area.height());
      setRange(p, movedBy(p, ranges[p], area.center() + moved, area.center()));
    }
  });
}

void FigureView::leaveEvent(QEvent*) { Q_EMIT unhovered(); }

}  // namespace lime::explorer
