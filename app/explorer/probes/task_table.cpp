// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/task_table.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QSignalBlocker>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "explorer/models/text.h"
#include "explorer/widgets/pane_layout.h"

namespace lime::explorer {

QString taskTitle(const std::string& task) {
  return task.empty() ? QStringLiteral("mean over tasks")
                      : toQString(task).replace(QLatin1Char('_'), QLatin1Char(' '));
}

TaskTable::TaskTable(QWidget* parent) : QWidget(parent), title_(makeCaption()) {
  sort_.setSourceModel(&model_);
  table_ = makeTable(sort_, QStringLiteral("accuracy of tasks and layers"));
  table_->setSelectionBehavior(QAbstractItemView::SelectItems);
  table_->setMouseTracking(true);
  table_->setSortingEnabled(true);
  table_->sortByColumn(TasksModel::kMean, Qt::DescendingOrder);
  table_->horizontalHeader()->setStretchLastSection(false);
  table_->horizontalHeader()->setMinimumSectionSize(24);
  // BLiMP has 67 tasks.
  table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 4);
  table_->installEventFilter(this);
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(title_);
  column->addWidget(table_, 1);
  connect(table_, &QTableView::clicked, this, &TaskTable::select);
  connect(table_, &QTableView::entered, this,
          [this](const QModelIndex& index) { Q_EMIT status(describe(index)); });
  connect(table_->horizontalHeader(), &QHeaderView::sortIndicatorChanged, this,
          &TaskTable::sortChanged);
}

void TaskTable::setTasks(std::vector<TaskAccuracy> tasks, const QString& title, int layer_base) {
  const bool had_none = isEmpty();
  layer_base_ = layer_base;
  title_->setWordWrap(tasks.empty());
  title_->setText(title);
  model_.setTasks(std::move(tasks), layer_base);
  if (!had_none || isEmpty()) return;
  const int digit = table_->fontMetrics().averageCharWidth();
  table_->setColumnWidth(TasksModel::kTask, 26 * digit);
  table_->setColumnWidth(TasksModel::kMean, 10 * digit);
  for (int column = TasksModel::kFirstLayer; column < model_.columnCount(); ++column) {
    table_->setColumnWidth(column, 7 * digit);
  }
}

void TaskTable::setCurrent(const std::string& task, std::optional<int> layer) {
  const int column = layer ? model_.columnOf(*layer) : -1;
  for (int row = 0; column >= 0 && row < model_.rowCount(); ++row) {
    if (model_.at(row).name != task) continue;
    table_->selectionModel()->setCurrentIndex(sort_.mapFromSource(model_.index(row, column)),
                                              QItemSelectionModel::ClearAndSelect);
  }
}

void TaskTable::setActive(bool active) {
  QFont font = title_->font();
  font.setWeight(active ? QFont::DemiBold : QFont::Normal);
  title_->setFont(font);
  title_->setForegroundRole(active ? QPalette::WindowText : QPalette::PlaceholderText);
}

std::vector<TaskAccuracy> TaskTable::sorted() const {
  std::vector<TaskAccuracy> tasks;
  for (int row = 0; row < sort_.rowCount(); ++row) {
    tasks.push_back(model_.at(sort_.mapToSource(sort_.index(row, 0)).row()));
  }
  return tasks;
}

void TaskTable::setSort(int column, bool ascending) {
  const QSignalBlocker quiet(table_->horizontalHeader());
  const Qt::SortOrder order = ascending ? Qt::AscendingOrder : Qt::DescendingOrder;
  table_->horizontalHeader()->setSortIndicator(column, order);
  sort_.sort(column, order);
}

void TaskTable::select(const QModelIndex& index) {
  const QModelIndex own = sort_.mapToSource(index);
  if (own.isValid()) Q_EMIT taskSelected(model_.at(own.row()).name, model_.layerOf(own.column()));
}

QString TaskTable::describe(const QModelIndex& index) const {
  const int layer = model_.layerOf(index.column());
  const QModelIndex own = sort_.mapToSource(index);
  if (!own.isValid() || layer < 0) return {};
  return QStringLiteral("%1, layer %2: accuracy %3; click to select it")
      .arg(taskTitle(model_.at(own.row()).name))
      .arg(layer + layer_base_)
      .arg(own.data(TasksModel::kSort).toDouble(), 0, 'f', 4);
}

bool TaskTable::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusIn) Q_EMIT focused();
  if (event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space) {
      select(table_->currentIndex());
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace lime::explorer
