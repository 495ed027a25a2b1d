// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>
#include <QMenu>
#include <QObject>
#include <functional>

class QAction;

namespace lime::explorer {

class ViewStack;
class Workspace;

/// Adds an action with a shortcut and a status tip to a menu.
QAction* addMenuAction(QMenu& menu, const QString& text, const QKeySequence& shortcut,
                       const QString& statusTip, const std::function<void()>& run);

/// The actions that open, reload, locate and close documents.
class FileMenu : public QMenu {
  Q_OBJECT

 public:
  explicit FileMenu(Workspace& workspace, QWidget* parent = nullptr);

  /// Returns the actions of the context menu of a document.
  QList<QAction*> documentActions() const { return {capture_, reload_, close_}; }
  QAction* openFolderAction() const { return open_folder_; }
  QAction* captureAction() const { return capture_; }
  QAction* measureAction() const { return measure_; }
  void openFiles();
  void openFolder();
  void locateCapture(int id);
  /// Runs lime-figure report on all open results; notice() reports how it ended.
  void writeReport(const QString& path);

 Q_SIGNALS:
  void notice(const QString& text);

 private:
  void addOpenActions();
  void openDemo();
  void reload();
  void updateActions();
  void updateRecent();
  int incompleteResults() const;  ///< the first document with missing captures; 0: none

  Workspace& workspace_;
  QMenu* recent_ = nullptr;
  QAction* open_folder_ = nullptr;
  QAction* capture_ = nullptr;
  QAction* measure_ = nullptr;
  QAction* reload_ = nullptr;
  QAction* locate_ = nullptr;
  QAction* close_ = nullptr;
  QAction* report_ = nullptr;
};

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
