// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QModelIndex>
#include <QObject>
#include <QSortFilterProxyModel>
#include <QString>
#include <QWidget>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "explorer/models/table_model.h"
#include "explorer/widgets/controls.h"
#include "viz/figure.h"
#include "viz/figure_source.h"

class QEvent;
class QLabel;
class QTableView;

namespace lime::explorer {

/// The accuracy of one model on one task of minimal pairs.
struct TaskAccuracy {
  std::string name;                ///< empty: the mean over tasks
  std::string term;                ///< linguistics_term
  std::map<int, double> by_layer;  ///< accuracy

  double mean() const;  ///< over layers
};

/// Returns the name of a task for titles: "mean over tasks" where it is empty.
QString taskTitle(const std::string& task);

/// Returns the mean over tasks, then the tasks in the order of the results; nothing where these
/// have none. @throws FormatError  if a layer or an accuracy is no number; names file and key
std::vector<TaskAccuracy> taskAccuracies(const FigureSource& source, const std::string& site);

/// Draws accuracies as a heatmap: tasks from top to bottom, layers from left to right.
Figure taskFigure(std::span<const TaskAccuracy> tasks, int layer_base);

/// Lists the accuracy of each task of minimal pairs in each layer, in colours. The columns are the
/// task, the mean over layers, and the layers.
class TasksModel : public TableModel<TaskAccuracy> {
 public:
  enum Column { kTask, kMean, kFirstLayer };
  enum Role { kSort = Qt::UserRole, kIsMean };

  void setTasks(std::vector<TaskAccuracy> tasks, int layer_base);
  /// Returns the layer of a column, -1 where it is none.
  int layerOf(int column) const;
  int columnOf(int layer) const;

 private:
  std::vector<int> layers_;
};

/// Sorts tasks; the mean over tasks stays on top.
class TasksSort : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  TasksSort();

 protected:
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
};

/// Lists the tasks of minimal pairs with their accuracy in each layer. A click selects a task and a
/// layer.
class TaskTable : public QWidget {
  Q_OBJECT

 public:
  TaskTable();

  /// @param title  of the tasks, or why there are none
  void setTasks(std::vector<TaskAccuracy> tasks, const QString& title, int layer_base);
  bool isEmpty() const { return model_.rowCount() == 0; }
  /// Makes a cell current. @param task  empty: the mean over tasks
  void setCurrent(const std::string& task, std::optional<int> layer);
  void setActive(bool active) { setActiveCaption(*title_, active); }
  /// Returns the tasks as they are sorted.
  std::vector<TaskAccuracy> sorted() const;
  int sortColumn() const { return sort_.sortColumn(); }
  bool isAscending() const { return sort_.sortOrder() == Qt::AscendingOrder; }
  /// Sorts without sortChanged().
  void setSort(int column, bool ascending);

 Q_SIGNALS:
  /// @param layer  -1: none
  void taskSelected(const std::string& task, int layer);
  void sortChanged();
  void focused();
  void status(const QString& text);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void select(const QModelIndex& index);
  QString describe(const QModelIndex& index) const;

  TasksModel model_;
  TasksSort sort_;
  int layer_base_ = 0;
  QLabel* title_;
  QTableView* table_;
};

}  // namespace lime::explorer
