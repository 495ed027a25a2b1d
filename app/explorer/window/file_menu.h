// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>
#include <QMenu>
#include <QString>

class QAction;

class QWidget;

namespace lime::explorer {

class Workspace;

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
  /// Runs lime-figure report on all open results; reportWritten() or notice() reports how it ended.
  void writeReport(const QString& path);

 Q_SIGNALS:
  void notice(const QString& text);
  void reportWritten(const QString& path);

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

}  // namespace lime::explorer
