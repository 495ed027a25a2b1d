// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>
#include <QMenu>
#include <QObject>
#include <QString>
#include <QWidget>

class QAction;

namespace lime::explorer {

class ViewStack;

/// The actions on the figure of the current view: export, copy, zoom.
class FigureActions : public QObject {
  Q_OBJECT

 public:
  /// @param window  parent of dialogs
  FigureActions(ViewStack& views, QWidget& window);

  void addExport(QMenu& menu);
  void addCopy(QMenu& menu);
  void addZoom(QMenu& menu);
  /// Enables the actions where there is a figure.
  void update();

 Q_SIGNALS:
  void message(const QString& text);

 private:
  void exportFigure();
  void copyCommandLines();
  /// Tells whether the commands of the current view draw its figure.
  void describeCopy();
  void copyImage();

  ViewStack& views_;
  QWidget& window_;
  QList<QAction*> actions_;
  QAction* copy_ = nullptr;
};

}  // namespace lime::explorer
