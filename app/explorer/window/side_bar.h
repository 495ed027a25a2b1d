// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>
#include <QWidget>

#include "explorer/models/job_runner.h"
#include "explorer/models/workspace.h"
#include "explorer/window/navigator_model.h"

class QAction;
class QEvent;
class QListWidget;
class QTreeView;

namespace lime::explorer {

/// The side bar: the views, the open documents, and the jobs.
class SideBar : public QWidget {
  Q_OBJECT

 public:
  SideBar(Workspace& workspace, JobRunner& jobs);

  NavigatorModel& navigator() { return navigator_; }
  void setCurrentView(int index);  ///< without viewSelected()
  /// Adds actions to the context menu of the documents.
  void addDocumentActions(const QList<QAction*>& actions);

 Q_SIGNALS:
  void viewSelected(int index);
  /// The user requested the view that shows a document.
  void documentActivated(int id);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void addViews();
  void addDocuments();

  Workspace& workspace_;
  NavigatorModel navigator_;
  QListWidget* views_;
  QTreeView* tree_;
};

}  // namespace lime::explorer
