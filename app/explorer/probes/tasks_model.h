// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSortFilterProxyModel>
#include <vector>

#include "explorer/models/table_model.h"
#include "explorer/probes/probe_figures.h"

namespace lime::explorer {

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
  explicit TasksSort(QObject* parent = nullptr);

 protected:
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
};

}  // namespace lime::explorer
