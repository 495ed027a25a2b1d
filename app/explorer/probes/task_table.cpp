// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/task_table.h"

#include <QColor>
#include <QHeaderView>
#include <QKeyEvent>
#include <set>

#include "explorer/widgets/theme.h"
#include "viz/recipes/figure_row.h"

namespace lime::explorer {
namespace {

QVariant taskData(const TaskAccuracy& task, int role) {
  if (role == TasksModel::kIsMean) return task.name.empty();
  if (role == Qt::ToolTipRole) {
    return task.term.empty() ? taskTitle(task.name)
                             : u"%1\n%2"_s.arg(taskTitle(task.name), taskTitle(task.term));
  }
  return role == TasksModel::kSort ? QVariant(taskTitle(task.name)) : QVariant();
}

/// Returns the value of `role` of an accuracy; those from `lowest` to 1 have the colours.
QVariant accuracyData(double accuracy, double lowest, int role) {
  if (role == Qt::TextAlignmentRole) return static_cast<int>(Qt::AlignCenter);
  if (role == TasksModel::kSort) return accuracy;
  if (role != Qt::BackgroundRole && role != Qt::ForegroundRole) return {};
  const Colour ground =
      heatmap_colour(HeatmapPalette::kViridis, (accuracy - lowest) / std::max(1e-9, 1.0 - lowest));
  const QColor colour(ground.red, ground.green, ground.blue);
  return role == Qt::BackgroundRole ? colour : inkOn(colour);
}

/// The layers of tasks, and their lowest accuracy, or 0.5.
struct TaskRange {
  std::set<int> layers = {};
  double lowest = 0.5;
};

TaskRange rangeOf(std::span<const TaskAccuracy> tasks) {
  TaskRange range;
  for (const TaskAccuracy& task : tasks) {
    for (const auto& [layer, accuracy] : task.by_layer) {
      range.layers.insert(layer);
      range.lowest = std::min(range.lowest, accuracy);
    }
  }
  return range;
}

}  // namespace

QString taskTitle(const std::string& task) {
  return task.empty() ? u"mean over tasks"_s : toQString(task).replace(u'_', u' ');
}

double TaskAccuracy::mean() const {
  double sum = 0.0;
  for (const auto& [layer, value] : by_layer) sum += value;
  return sum / static_cast<double>(std::max<std::size_t>(1, by_layer.size()));
}

std::vector<TaskAccuracy> taskAccuracies(const FigureSource& source, const std::string& site) {
  std::vector<TaskAccuracy> tasks;
  for (const ResultRow& own : source.results.rows) {
    const FigureRow row{&own, 0, &source.path};
    const std::string level = row.text(col::kLevel);
    if (row.text(col::kSite) != site || (level != "task" && level != "all")) continue;
    const std::string name = level == "all" ? "" : row.text(col::kName);
    auto at = std::ranges::find(tasks, name, &TaskAccuracy::name);
    if (at == tasks.end()) {
      const std::string term = row.text(col::kLinguisticsTerm);
      at = tasks.insert(name.empty() ? tasks.begin() : tasks.end(), {name, term, {}});
    }
    at->by_layer[row.index(col::kLayer, kMaxLayers)] = row.number(col::kMean);
  }
  return tasks;
}

Figure taskFigure(std::span<const TaskAccuracy> tasks, int layer_base) {
  const auto [layers, lowest] = rangeOf(tasks);
  const auto rows = static_cast<Eigen::Index>(tasks.size());
  HeatmapPanel map;
  map.values = MatrixD::Constant(rows, static_cast<Eigen::Index>(layers.size()),
                                 std::numeric_limits<double>::quiet_NaN());
  FigurePanel panel{.title = {}, .x = {.label = "layer"}, .y = {}, .content = {}};
  for (Eigen::Index r = 0; r < rows; ++r) {
    // Row 0 is drawn at the bottom.
    const TaskAccuracy& task = tasks[static_cast<std::size_t>(rows - 1 - r)];
    panel.y.ticks.push_back({static_cast<double>(r), taskTitle(task.name).toStdString()});
    Eigen::Index column = 0;
    for (const int layer : layers) {
      const auto known = task.by_layer.find(layer);
      if (known != task.by_layer.end()) map.values(r, column) = known->second;
      ++column;
    }
  }
  for (const int layer : layers) {
    panel.x.ticks.push_back(
        {static_cast<double>(panel.x.ticks.size()), std::to_string(layer + layer_base)});
  }
  map.shows_numbers = true;
  panel.content = std::move(map);
  Figure figure;
  figure.name = "blimp-tasks";
  figure.panels.push_back(std::move(panel));
  figure.panel_aspect = std::max(0.4, 0.035 * static_cast<double>(rows));
  figure.is_wide = true;
  figure.colour_label = "accuracy";
  figure.colour_range = std::pair(std::floor(10.0 * lowest) / 10.0, 1.0);
  return figure;
}

void TasksModel::setTasks(std::vector<TaskAccuracy> tasks, int layer_base) {
  const auto range = rangeOf(tasks);
  const double lowest = range.lowest;
  layers_.assign(range.layers.begin(), range.layers.end());
  using Accuracy = std::function<std::optional<double>(const TaskAccuracy&)>;
  const auto column = [lowest](const QString& title, const QString& help, const Accuracy& subject) {
    return TableColumn<TaskAccuracy>{
        .title = title,
        .text =
            [subject](const TaskAccuracy& task) {
              const std::optional<double> accuracy = subject(task);
              return accuracy ? QVariant(QString::number(*accuracy, 'f', 3)) : QVariant();
            },
        .help = help,
        .further = [subject, lowest](const TaskAccuracy& task, int role) -> QVariant {
          if (role == kIsMean || role == Qt::ToolTipRole) return taskData(task, role);
          const std::optional<double> accuracy = subject(task);
          return accuracy ? accuracyData(*accuracy, lowest, role) : QVariant();
        }};
  };
  std::vector<TableColumn<TaskAccuracy>> columns = {
      {.title = u"Task"_s,
       .text = [](const TaskAccuracy& task) { return taskTitle(task.name); },
       .help = u"Paradigm of BLiMP (UID); click to sort"_s,
       .further = taskData},
      column(u"Mean"_s, u"Mean accuracy over layers; click to sort"_s,
             [](const TaskAccuracy& task) { return std::optional(task.mean()); })};
  for (const int layer : layers_) {
    columns.push_back(
        column(QString::number(layer + layer_base), u"Accuracy in this layer; click to sort"_s,
               [layer](const TaskAccuracy& task) {
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
  const auto at = std::ranges::find(layers_, layer);
  return at == layers_.end() ? -1 : kFirstLayer + static_cast<int>(at - layers_.begin());
}

TasksSort::TasksSort() { setSortRole(TasksModel::kSort); }

bool TasksSort::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const bool left_is_mean = left.data(TasksModel::kIsMean).toBool();
  const bool right_is_mean = right.data(TasksModel::kIsMean).toBool();
  if (left_is_mean != right_is_mean) return left_is_mean == (sortOrder() == Qt::AscendingOrder);
  return QSortFilterProxyModel::lessThan(left, right);
}

TaskTable::TaskTable() : title_(makeCaption()) {
  sort_.setSourceModel(&model_);
  table_ = makeTable(sort_, u"accuracy of tasks and layers"_s);
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
  return u"%1, layer %2: accuracy %3; click to select it"_s
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
