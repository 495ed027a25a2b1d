// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <string>
#include <vector>

#include "explorer/models/probe_figures.h"

namespace lime::explorer {

/// Accuracy of each task of minimal pairs in each layer, in colours. Columns: the task, the mean
/// over layers, the layers.
class TasksModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kTask, kMean, kFirstLayer };
  enum Role { kSort = Qt::UserRole, kIsMean };

  using QAbstractTableModel::QAbstractTableModel;

  void setTasks(std::vector<TaskAccuracy> tasks, int layer_base);
  const std::vector<TaskAccuracy>& tasks() const { return tasks_; }
  /// Of a column, -1 where it is none.
  int layerOf(int column) const;
  int columnOf(int layer) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  /// NaN where there is none.
  double accuracyOf(const QModelIndex& index) const;

  std::vector<TaskAccuracy> tasks_;
  std::vector<int> layers_;
  int layer_base_ = 0;
  double lowest_ = 0.5;
};

/// Sorts tasks; the mean over tasks stays on top.
class TasksSort : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit TasksSort(QObject* parent = nullptr);

 protected:
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
};

}  // namespace lime::explorer
