// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QMenu>
#include <functional>

namespace lime::explorer {

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
  QList<QAction*> documentActions() const { return {reload_, close_}; }
  void openFiles();
  void openFolder();
  void locateCapture(int id);

 Q_SIGNALS:
  void notice(const QString& text);

 private:
  void addOpenActions();
  void openDemo();
  void reload();
  void updateLocate();
  void updateRecent();

  Workspace& workspace_;
  QMenu* recent_ = nullptr;
  QAction* reload_ = nullptr;
  QAction* locate_ = nullptr;
  QAction* close_ = nullptr;
};

}  // namespace lime::explorer
