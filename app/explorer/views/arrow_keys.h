// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QKeyEvent>
#include <QPointF>

namespace lime::explorer {

/// How far Ctrl and an arrow move a figure, in parts of its size.
inline constexpr double kKeyStep = 0.1;

/// Which way an arrow key points on the screen; (0, 0) for other keys.
inline QPointF arrowOf(const QKeyEvent& event) {
  switch (event.key()) {
    case Qt::Key_Left:
      return {-1.0, 0.0};
    case Qt::Key_Right:
      return {1.0, 0.0};
    case Qt::Key_Up:
      return {0.0, -1.0};
    case Qt::Key_Down:
      return {0.0, 1.0};
    default:
      return {};
  }
}

}  // namespace lime::explorer
