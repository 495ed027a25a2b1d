// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QKeyEvent>
#include <QPointF>
#include <QString>
#include <QWidget>

#include "explorer/models/text.h"

class QMouseEvent;
class QWheelEvent;

namespace lime::explorer {

/// Returns the direction of an arrow key on the screen; (0, 0) for other keys.
QPointF arrowDirection(const QKeyEvent& event);

/// Translates mouse and keys into pointing, zooming and moving, for widgets that draw a plane: the
/// wheel zooms about the pointer, dragging and Ctrl with the arrows move, a double click shows all.
class Canvas : public QWidget {
  Q_OBJECT

 public:
  Canvas();

  virtual void zoom(double factor) = 0;  ///< > 1 comes nearer
  virtual void showAll() = 0;

 protected:
  static QString zoomText() { return u"Zoom"_s; }  ///< names a step of undo
  static QString moveText() { return u"Move"_s; }

  virtual void pointAt(const QPointF& position) = 0;
  virtual void clickAt(const QPointF& position, Qt::KeyboardModifiers modifiers) = 0;
  /// @return false  if there is nothing to zoom
  virtual bool zoomAt(const QPointF& position, double factor, Qt::KeyboardModifiers modifiers) = 0;
  /// Moves by `step` times the size of what is shown.
  virtual void moveBy(const QPointF& step) = 0;
  /// @return false  if this button does nothing
  virtual bool beginDrag(const QPointF& position) = 0;
  virtual void drag(const QPointF& from, const QPointF& to) = 0;
  virtual void endDrag(Qt::KeyboardModifiers modifiers) = 0;
  /// Returns the button that was pressed last.
  Qt::MouseButton button() const { return button_; }

  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  Qt::MouseButton button_ = Qt::NoButton;
  bool is_pressed_ = false;
  bool is_dragging_ = false;
  QPointF pressed_;
  QPointF last_;
};

}  // namespace lime::explorer
