// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/tasks_model.h"

#include <QColor>
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "explorer/models/text.h"
#include "viz/colour.h"

namespace lime::explorer {
namespace {

constexpr double kDarkGround = 0.5;  // luma below which the ink is white

}  // namespace

void TasksModel::setTasks(std::vector<TaskAccuracy> tasks, int layer_base) {
  beginResetModel();
  tasks_ = std::move(tasks);
  layer_base_ = layer_base;
  std::set<int> layers;
  lowest_ = 0.5;
  for (const TaskAccuracy& task : tasks_) {
    for (const auto& [layer, accuracy] : task.by_layer) {
      layers.insert(layer);
      lowest_ = std::min(lowest_, accuracy);
    }
  }
  layers_.assign(layers.begin(), layers.end());
  endResetModel();
}

int TasksModel::layerOf(int column) const {
  const int at = column - kFirstLayer;
  return at >= 0 && at < static_cast<int>(layers_.size()) ? layers_[static_cast<std::size_t>(at)]
                                                          : -1;
}

int TasksModel::columnOf(int layer) const {
  const auto at = std::find(layers_.begin(), layers_.end(), layer);
  return at == layers_.end() ? -1 : kFirstLayer + static_cast<int>(at - layers_.begin());
}

int TasksModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(tasks_.size());
}

int TasksModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kFirstLayer + static_cast<int>(layers_.size());
}

double TasksModel::accuracyOf(const QModelIndex& index) const {
  const TaskAccuracy& task = tasks_[static_cast<std::size_t>(index.row())];
  if (index.column() == kMean) return task.mean();
  const auto known = task.by_layer.find(layerOf(index.column()));
  return known == task.by_layer.end() ? std::numeric_limits<double>::quiet_NaN() : known->second;
}

QVariant TasksModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const TaskAccuracy& task = tasks_[static_cast<std::size_t>(index.row())];
  const QString name = task.name.empty()
                           ? QStringLiteral("mean over tasks")
                           : toQString(task.name).replace(QLatin1Char('_'), QLatin1Char(' '));
  if (role == kIsMean) return task.name.empty();
  if (role == Qt::ToolTipRole) {
    return task.term.empty()
               ? name
               : QStringLiteral("%1\n%2").arg(
                     name, toQString(task.term).replace(QLatin1Char('_'), QLatin1Char(' ')));
  }
  if (index.column() == kTask) {
    return role == Qt::DisplayRole || role == kSort ? QVariant(name) : QVariant();
  }
  const double accuracy = accuracyOf(index);
  if (!std::isfinite(accuracy)) return {};
  if (role == kSort) return accuracy;
  if (role == Qt::DisplayRole) return QString::number(accuracy, 'f', 3);
  if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignCenter);
  if (role != Qt::BackgroundRole && role != Qt::ForegroundRole) return {};
  const Colour ground =
      map_colour(MapPalette::kViridis, (accuracy - lowest_) / std::max(1e-9, 1.0 - lowest_));
  if (role == Qt::BackgroundRole) return QColor(ground.red, ground.green, ground.blue);
  return luma(ground) < kDarkGround ? QColor(255, 255, 255) : QColor(20, 20, 20);
}

QVariant TasksModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::ToolTipRole) {
    return section == kTask   ? QStringLiteral("Paradigm of BLiMP (UID); click to sort")
           : section == kMean ? QStringLiteral("Mean accuracy over layers; click to sort")
                              : QStringLiteral("Accuracy in this layer; click to sort");
  }
  if (role != Qt::DisplayRole) return {};
  if (section == kTask) return QStringLiteral("Task");
  if (section == kMean) return QStringLiteral("Mean");
  return layerOf(section) + layer_base_;
}

TasksSort::TasksSort(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(TasksModel::kSort);
}

bool TasksSort::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const bool left_is_mean = left.data(TasksModel::kIsMean).toBool();
  const bool right_is_mean = right.data(TasksModel::kIsMean).toBool();
  if (left_is_mean != right_is_mean) return left_is_mean == (sortOrder() == Qt::AscendingOrder);
  return QSortFilterProxyModel::lessThan(left, right);
}

}  // namespace lime::explorer
