// SPDX-License-Identifier: Apache-2.0
#include <QComboBox>
#include <QItemSelectionModel>
#include <QLabel>
#include <QTableView>
#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/errors.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/probes_view.h"
#include "explorer/views/theme.h"
#include "viz/recipes/figure_row.h"

namespace lime::explorer {
namespace {

const QString kNoWords = QStringLiteral(
    "Nothing to probe yet.\n\nOpen a capture of some words (lime-capture --only ' is, are, was, "
    "were'), or results of lime-metrics separability.");
const QString kNoPairs = QStringLiteral(
    "Nothing to probe yet.\n\nOpen a capture of minimal pairs (lime-capture --pairs FILE.jsonl "
    "--rows mean), or results of lime-metrics blimp.");
constexpr double kMarkTop = 1e5;     // above any curve
constexpr double kMarkWidth = 0.01;  // of the axis

QString taskName(const std::string& task) {
  return task.empty() ? QStringLiteral("mean over tasks")
                      : toQString(task).replace(QLatin1Char('_'), QLatin1Char(' '));
}

}  // namespace

QString ProbesView::emptyMessage() const {
  if (sources_.empty()) return question() == ProbeQuestion::kBlimp ? kNoPairs : kNoWords;
  return measurements_.isMeasuring(question()) ? QStringLiteral("Fitting probes ...")
                                               : QStringLiteral("Nothing could be probed.");
}

void ProbesView::draw() {
  const FigureStyle style = screenStyle(*this, preferences());
  for (FigurePane* const pane : {curves_, confusion_}) pane->plot().setFigureStyle(style);
  const bool has_tasks = question() == ProbeQuestion::kBlimp;
  tasks_pane_->setVisible(has_tasks && !sources_.empty());
  if (!has_tasks && active_ == nullptr) activate(curves_);
  drawCurves();
  listTasks();
  markLayer();
  listProblems();
  rememberState();
  Q_EMIT figureChanged();
}

void ProbesView::drawCurves() {
  auto [figure, message] =
      probeCurves(measurements_.figureSources(question()), site(), task_, preferences().layer_base);
  curves_->plot().setMessage(message.isEmpty() ? emptyMessage() : message);
  curves_->setCaption(
      !figure ? QString()
      : question() == ProbeQuestion::kSeparability
          ? QStringLiteral("Accuracy of telling words apart, by layer")
          : QStringLiteral("Accuracy on minimal pairs, by layer: %1").arg(taskName(task_)));
  curves_->plot().setFigure(std::move(figure));
  curves_->plot().linkAllPanels(workspace(), QStringLiteral("layer"), -preferences().layer_base);
}

void ProbesView::listTasks() {
  std::vector<TaskAccuracy> tasks;
  QString problem;
  const ProbeSource* const shown = source();
  if (question() == ProbeQuestion::kBlimp && shown != nullptr) {
    for (const FigureSource& one : measurements_.figureSources(question())) {
      const bool is_it = !one.results.rows.empty() &&
                         FigureRow{&one.results.rows.front(), 0, &one.path}.text("label") ==
                             shown->label.toStdString();
      if (!is_it) continue;
      try {
        tasks = taskAccuracies(one, site());
      } catch (const Error& error) {
        problem = toQString(error);
      }
    }
  }
  const bool had_none = tasks_.rowCount() == 0;
  tasks_title_->setWordWrap(!problem.isEmpty());
  tasks_title_->setText(!problem.isEmpty() ? problem
                        : !tasks.empty() ? QStringLiteral("Tasks of %1 by layer").arg(shown->label)
                        : measurements_.isMeasuring(question())
                            ? QStringLiteral("Fitting probes ...")
                            : QStringLiteral("No accuracies by task of this model and site"));
  tasks_.setTasks(std::move(tasks), preferences().layer_base);
  if (had_none && tasks_.rowCount() > 0) {
    const int digit = tasks_table_->fontMetrics().averageCharWidth();
    tasks_table_->setColumnWidth(TasksModel::kTask, 26 * digit);
    for (int column = TasksModel::kMean; column < tasks_.columnCount(); ++column) {
      tasks_table_->setColumnWidth(column, (column == TasksModel::kMean ? 10 : 7) * digit);
    }
  }
}

void ProbesView::markLayer() {
  const std::optional<int> layer = workspace().selection().layer;
  std::vector<FigureMark> marks;
  const Figure* const curves = curves_->plot().figure();
  for (std::size_t p = 0; layer && curves != nullptr && p < curves->panels.size(); ++p) {
    const double x = *layer + preferences().layer_base;
    const auto& drawn = std::get<CurvePanel>(curves->panels[p].content).curves;
    const double width = drawn.empty() ? 0.1 : kMarkWidth * static_cast<double>(drawn[0].x.size());
    marks.push_back({.panel = p,
                     .area = QRectF(x - width / 2.0, -kMarkTop, width, 2.0 * kMarkTop),
                     .is_strong = false});
  }
  curves_->plot().setMarks(std::move(marks));
  const int column = layer ? tasks_.columnOf(*layer) : -1;
  for (int row = 0; column >= 0 && row < tasks_.rowCount(); ++row) {
    if (tasks_.tasks()[static_cast<std::size_t>(row)].name != task_) continue;
    tasks_table_->selectionModel()->setCurrentIndex(
        tasks_sort_.mapFromSource(tasks_.index(row, column)), QItemSelectionModel::ClearAndSelect);
  }
}

void ProbesView::listProblems() {
  QStringList lines;
  for (const ProbeSource& one : sources_) {
    const QString& problem = measurements_.answer(one, question()).problem;
    if (!problem.isEmpty()) lines << QStringLiteral("%1: %2").arg(one.label, problem);
  }
  problems_->setText(lines.join(QLatin1Char('\n')));
  problems_->setVisible(!lines.isEmpty());
}

void ProbesView::drawConfusion() {
  confusion_->plot().setFigureStyle(screenStyle(*this, preferences()));
  const ProbeDetail* const detail = judgements_.detail();
  if (detail == nullptr) {
    confusion_->setCaption({});
    confusion_->plot().setFigure(std::nullopt);
    return;
  }
  confusion_->setCaption(
      QStringLiteral("Confusion, accuracy %1").arg(detail->accuracy(), 0, 'f', 3));
  confusion_->plot().setFigure(confusionFigure(*detail, numbers_->currentData().toBool()));
  markCells();
  Q_EMIT figureChanged();
}

void ProbesView::markCells() {
  const ProbeDetail* const detail = judgements_.detail();
  if (detail == nullptr) return;
  const auto count = static_cast<double>(detail->confusion.rows());
  std::vector<FigureMark> marks;
  const auto add = [&](const std::optional<std::pair<int, int>>& cell, bool is_strong) {
    if (!cell) return;
    marks.push_back({.panel = 0,
                     .area = QRectF(cell->second - 0.5, count - 1.5 - cell->first, 1.0, 1.0),
                     .is_strong = is_strong});
  };
  add(reached_, false);
  add(filter_.cell(), true);
  confusion_->plot().setMarks(std::move(marks));
}

QString ProbesView::describeCurve(const FigureHit& hit) const {
  const Figure* const figure = curves_->plot().figure();
  if (figure == nullptr || !hit.point) return {};
  const auto& panel = std::get<CurvePanel>(figure->panels[hit.panel].content);
  const Curve& curve = panel.curves[hit.point->series];
  const std::size_t at = hit.point->index;
  QString text = QStringLiteral("%1, layer %2: accuracy %3")
                     .arg(toQString(curve.label))
                     .arg(curve.x[at])
                     .arg(curve.y[at], 0, 'f', 4);
  if (at < curve.low.size()) {
    text +=
        QStringLiteral(" [%1, %2]").arg(curve.low[at], 0, 'f', 4).arg(curve.high[at], 0, 'f', 4);
  }
  return text + QStringLiteral("; click for what it judged wrong");
}

QString ProbesView::describeTask(const QModelIndex& index) const {
  const int layer = tasks_.layerOf(index.column());
  const QModelIndex own = tasks_sort_.mapToSource(index);
  if (!own.isValid() || layer < 0) return {};
  return QStringLiteral("%1, layer %2: accuracy %3; click to look at it")
      .arg(taskName(tasks_.tasks()[static_cast<std::size_t>(own.row())].name))
      .arg(layer + preferences().layer_base)
      .arg(own.data(TasksModel::kSort).toDouble(), 0, 'f', 4);
}

QString ProbesView::describeCell(const FigureHit& hit) const {
  const ProbeDetail* const detail = judgements_.detail();
  if (detail == nullptr || !hit.cell) return {};
  const auto truth = static_cast<Eigen::Index>(detail->confusion.rows() - 1 - hit.cell->row);
  const auto predicted = static_cast<Eigen::Index>(hit.cell->col);
  const int count = detail->confusion(truth, predicted);
  return QStringLiteral("%1 taken for %2: %3, %4 % of its row; click to list them")
      .arg(toQString(detail->classes[static_cast<std::size_t>(truth)]).trimmed(),
           toQString(detail->classes[static_cast<std::size_t>(predicted)]).trimmed())
      .arg(count)
      .arg(100.0 * count / std::max(1, detail->confusion.row(truth).sum()), 0, 'f', 1);
}

}  // namespace lime::explorer
