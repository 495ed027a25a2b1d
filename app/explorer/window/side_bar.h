// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStandardItemModel>

#include "explorer/models/workspace.h"
#include "explorer/widgets/controls.h"

class QListWidget;
class QProgressBar;
class QTreeView;

namespace lime::explorer {

/// Lists the open documents as a tree: the kinds in the order of DocumentKind, below each its
/// documents, below each document the lines of its outline.
class NavigatorModel : public QStandardItemModel {
  Q_OBJECT

 public:
  enum Role {
    IdRole = Qt::UserRole,  ///< of the document, also on lines of its outline; 0 on kinds
    PathRole,
    ColourRole,  ///< number of the class palette
  };

  explicit NavigatorModel(Workspace& workspace);

  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

  QModelIndex indexOfDocument(int id) const;

 Q_SIGNALS:
  /// The user renamed a document.
  void renamed(int id, const QString& before, const QString& after);

 private:
  void add(int id);
  void change(int id);
  void remove(int id);
  void countDocuments(QStandardItem& kind);

  Workspace& workspace_;
};

/// Lists the jobs, oldest first, each with its progress, the time left and a button to cancel it.
/// Hidden while there are none.
class JobPanel : public QWidget {
  Q_OBJECT

 public:
  explicit JobPanel(JobRunner& jobs);

 private:
  struct Line {
    QWidget* widget = nullptr;
    QLabel* detail = nullptr;
    QProgressBar* bar = nullptr;
  };

  void add(JobId id);
  void update(JobId id);
  void remove(JobId id);
  /// Shows the oldest jobs: more would make the window higher than the screen.
  void showFirst();

  JobRunner& jobs_;
  QVBoxLayout* column_;
  std::map<JobId, Line> lines_;
};

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
