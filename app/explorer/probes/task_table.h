// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <optional>
#include <string>
#include <vector>

#include "explorer/probes/tasks_model.h"

class QLabel;
class QTableView;

namespace lime::explorer {

/// Lists the tasks of minimal pairs with their accuracy in each layer. A click selects a task and a
/// layer.
class TaskTable : public QWidget {
  Q_OBJECT

 public:
  explicit TaskTable(QWidget* parent = nullptr);

  /// @param title  of the tasks, or why there are none
  void setTasks(std::vector<TaskAccuracy> tasks, const QString& title, int layer_base);
  bool isEmpty() const { return model_.rowCount() == 0; }
  /// Makes a cell current. @param task  empty: the mean over tasks
  void setCurrent(const std::string& task, std::optional<int> layer);
  void setActive(bool active);
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

/// Returns the name of a task for titles: "mean over tasks" where it is empty.
QString taskTitle(const std::string& task);

}  // namespace lime::explorer
