// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/tasks_model.h"

#include <QColor>
#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "explorer/models/text.h"
#include "viz/plots/colour.h"

namespace lime::explorer {
namespace {

constexpr double kDarkGround = 0.5;  // luma below which the ink is white

QString spaced(const std::string& name) {
  return toQString(name).replace(QLatin1Char('_'), QLatin1Char(' '));
}

QString nameOf(const TaskAccuracy& task) {
  return task.name.empty() ? QStringLiteral("mean over tasks") : spaced(task.name);
}

QVariant taskData(const TaskAccuracy& task, int role) {
  if (role == TasksModel::kIsMean) return task.name.empty();
  if (role == Qt::ToolTipRole) {
    return task.term.empty() ? nameOf(task)
                             : QStringLiteral("%1\n%2").arg(nameOf(task), spaced(task.term));
  }
  return role == TasksModel::kSort ? QVariant(nameOf(task)) : QVariant();
}

/// Returns the value of `role` of an accuracy; those from `lowest` to 1 have the colours.
QVariant accuracyData(double accuracy, double lowest, int role) {
  if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignCenter);
  if (role == TasksModel::kSort) return accuracy;
  if (role != Qt::BackgroundRole && role != Qt::ForegroundRole) return {};
  const Colour ground =
      heatmap_colour(HeatmapPalette::kViridis, (accuracy - lowest) / std::max(1e-9, 1.0 - lowest));
  if (role == Qt::BackgroundRole) return QColor(ground.red, ground.green, ground.blue);
  return luma(ground) < kDarkGround ? QColor(255, 255, 255) : QColor(20, 20, 20);
}

}  // namespace

void TasksModel::setTasks(std::vector<TaskAccuracy> tasks, int layer_base) {
  std::set<int> layers;
  double lowest = 0.5;
  for (const TaskAccuracy& task : tasks) {
    for (const auto& [layer, accuracy] : task.by_layer) {
      layers.insert(layer);
      lowest = std::min(lowest, accuracy);
    }
  }
  layers_.assign(layers.begin(), layers.end());
  using Accuracy = std::function<std::optional<double>(const TaskAccuracy&)>;
  const auto column = [lowest](const QString& title, const QString& help, const Accuracy& of) {
    return TableColumn<TaskAccuracy>{
        .title = title,
        .text =
            [of](const TaskAccuracy& task) {
              const std::optional<double> accuracy = of(task);
              return accuracy ? QVariant(QString::number(*accuracy, 'f', 3)) : QVariant();
            },
        .help = help,
        .further = [of, lowest](const TaskAccuracy& task, int role) -> QVariant {
          if (role == kIsMean || role == Qt::ToolTipRole) return taskData(task, role);
          const std::optional<double> accuracy = of(task);
          return accuracy ? accuracyData(*accuracy, lowest, role) : QVariant();
        }};
  };
  std::vector<TableColumn<TaskAccuracy>> columns = {
      {.title = QStringLiteral("Task"),
       .text = nameOf,
       .help = QStringLiteral("Paradigm of BLiMP (UID); click to sort"),
       .further = taskData},
      column(QStringLiteral("Mean"), QStringLiteral("Mean accuracy over layers; click to sort"),
             [](const TaskAccuracy& task) { return std::optional(task.mean()); })};
  for (const int layer : layers) {
    columns.push_back(column(
        QString::number(layer + layer_base),
        QStringLiteral("Accuracy in this layer; click to sort"), [layer](const TaskAccuracy& task) {
          const auto known = task.by_layer.find(layer);
          return known == task.by_layer.end() ? std::nullopt : std::optional(known->second);
        }));
  }
  setTable(std::move(columns), std::move(tasks));
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
