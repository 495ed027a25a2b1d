// SPDX-License-Identifier: Apache-2.0
#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <set>

#include "explorer/models/text.h"
#include "explorer/models/token_rows.h"
#include "explorer/models/workspace.h"
#include "explorer/views/arrow_keys.h"
#include "explorer/views/choice_box.h"
#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/pane_layout.h"
#include "explorer/views/probes_view.h"
#include "explorer/views/sentence_delegate.h"
#include "store/capture_reader.h"
#include "viz/recipes/figure_row.h"

namespace lime::explorer {
namespace {

const QString kNoLayerChosen =
    QStringLiteral("Click a layer to see its confusion matrix and what was judged wrong");

}  // namespace

QWidget* ProbesView::makeTasks() {
  tasks_pane_ = new QWidget;
  auto* const column = new QVBoxLayout(tasks_pane_);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  tasks_title_ = new QLabel;
  tasks_title_->setContentsMargins(12, 6, 12, 2);
  tasks_title_->setMinimumWidth(40);
  column->addWidget(tasks_title_);
  tasks_sort_.setSourceModel(&tasks_);
  tasks_table_ = makeTable(tasks_sort_, QStringLiteral("accuracy of tasks and layers"));
  tasks_table_->setSelectionBehavior(QAbstractItemView::SelectItems);
  tasks_table_->setMouseTracking(true);
  tasks_table_->setSortingEnabled(true);
  tasks_table_->sortByColumn(TasksModel::kMean, Qt::DescendingOrder);
  tasks_table_->horizontalHeader()->setMinimumSectionSize(24);
  // Lower still: BLiMP has 67 tasks.
  tasks_table_->verticalHeader()->setDefaultSectionSize(tasks_table_->fontMetrics().height() + 4);
  tasks_table_->installEventFilter(this);
  column->addWidget(tasks_table_, 1);
  connect(tasks_table_, &QTableView::clicked, this,
          [this](const QModelIndex& index) { clickTask(index); });
  connect(tasks_table_, &QTableView::entered, this,
          [this](const QModelIndex& index) { Q_EMIT status(describeTask(index)); });
  connect(tasks_table_->horizontalHeader(), &QHeaderView::sortIndicatorChanged, this, [this] {
    recordChange(QStringLiteral("Order the tasks"));
    Q_EMIT figureChanged();
  });
  return tasks_pane_;
}

QWidget* ProbesView::makeDetail() {
  auto* const list = new QWidget;
  auto* const column = new QVBoxLayout(list);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* const bar = new QHBoxLayout;
  bar->setContentsMargins(12, 4, 12, 4);
  detail_title_ = new QLabel(kNoLayerChosen);
  detail_title_->setMinimumWidth(40);
  bar->addWidget(detail_title_, 1);
  wrong_only_ = new QCheckBox(QStringLiteral("&Wrong only"));
  wrong_only_->setToolTip(QStringLiteral("Leave out what was judged right"));
  wrong_only_->setChecked(true);
  bar->addWidget(wrong_only_);
  search_ = new QLineEdit;
  search_->setPlaceholderText(QStringLiteral("find in sentences"));
  search_->setAccessibleName(QStringLiteral("find in sentences"));
  search_->setClearButtonEnabled(true);
  search_->setMaximumWidth(180);
  bar->addWidget(search_);
  column->addLayout(bar);
  filter_.setSourceModel(&judgements_);
  table_ = makeTable(filter_, QStringLiteral("judgements of the probe"));
  table_->setItemDelegateForColumn(JudgementsModel::kSentence, new SentenceDelegate(table_));
  table_->setAlternatingRowColors(true);
  table_->setSortingEnabled(true);
  table_->horizontalHeader()->setStretchLastSection(true);
  column->addWidget(table_, 1);
  confusion_->plot().setKeepsAspect(true);
  confusion_->plot().installEventFilter(this);
  QSplitter* const split = makeSplitter(Qt::Horizontal, {confusion_, list}, {1000, 2000});
  connect(wrong_only_, &QCheckBox::toggled, this, [this](bool is_on) {
    recordChange(QStringLiteral("Wrong only"));
    filter_.setWrongOnly(is_on);
    showDetail();
  });
  connect(search_, &QLineEdit::textChanged, &filter_, &JudgementsFilter::setText);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this] { selectJudgement(); });
  return split;
}

void ProbesView::activate(FigurePane* pane) {
  active_ = pane;
  for (FigurePane* const one : {curves_, confusion_}) one->setActive(one == pane);
  QFont font = tasks_title_->font();
  font.setWeight(pane == nullptr ? QFont::DemiBold : QFont::Normal);
  tasks_title_->setFont(font);
  tasks_title_->setForegroundRole(pane == nullptr ? QPalette::WindowText
                                                  : QPalette::PlaceholderText);
  Q_EMIT figureChanged();
}

void ProbesView::selectLayer(int layer) {
  changeState(QStringLiteral("Select a layer"), [&] { setLayer(layer); });
}

void ProbesView::setLayer(int layer) {
  Selection selection = workspace().selection();
  selection.layer = layer;
  workspace().setSelection(selection);
}

void ProbesView::clickCurve(const FigureHit& hit) {
  const Figure* const figure = curves_->plot().figure();
  if (figure == nullptr) return;
  changeState(QStringLiteral("Choose the model and a layer"), [&] {
    if (hit.point) {
      const auto& panel = std::get<CurvePanel>(figure->panels[hit.panel].content);
      const QString label = toQString(panel.curves[hit.point->series].label);
      // A curve of a control is called after its model.
      for (const ProbeSource& one : sources_) {
        if (label == one.label || label.startsWith(one.label + QStringLiteral(", "))) {
          chooseData(*model_, one.label);
        }
      }
    }
    setLayer(std::max(0, static_cast<int>(std::lround(hit.x)) - preferences().layer_base));
  });
  look();
  draw();
}

void ProbesView::clickTask(const QModelIndex& index) {
  const QModelIndex own = tasks_sort_.mapToSource(index);
  if (!own.isValid()) return;
  const std::string task = tasks_.tasks()[static_cast<std::size_t>(own.row())].name;
  const int layer = tasks_.layerOf(own.column());
  changeState(QStringLiteral("Choose the task"), [&] {
    task_ = task;
    if (layer >= 0) setLayer(layer);
    look();
    draw();
  });
}

bool ProbesView::eventFilter(QObject* watched, QEvent* event) {
  if (watched == tasks_table_ && event->type() == QEvent::FocusIn) activate(nullptr);
  if (watched == tasks_table_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space) {
      clickTask(tasks_table_->currentIndex());
      return true;
    }
  }
  if (watched == &confusion_->plot() && event->type() == QEvent::KeyPress &&
      walkCells(*static_cast<QKeyEvent*>(event))) {
    return true;
  }
  return View::eventFilter(watched, event);
}

bool ProbesView::walkCells(const QKeyEvent& event) {
  const ProbeDetail* const detail = judgements_.detail();
  if (detail == nullptr || event.modifiers() != Qt::NoModifier) return false;
  const int last = static_cast<int>(detail->confusion.rows()) - 1;
  const QPointF step = arrowOf(event);
  const std::pair<int, int> from = reached_.value_or(std::pair(0, 0));
  const std::pair<int, int> cell(
      std::clamp(from.first + (reached_ ? static_cast<int>(step.y()) : 0), 0, last),
      std::clamp(from.second + (reached_ ? static_cast<int>(step.x()) : 0), 0, last));
  FigureHit hit;
  hit.cell = FigureHit::Cell{last - cell.first, cell.second};
  if (!step.isNull()) {
    reached_ = cell;
    markCells();
    const QString text = describeCell(hit);
    confusion_->plot().setAccessibleDescription(text);
    Q_EMIT status(text);
    return true;
  }
  const int key = event.key();
  const bool chooses = key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space;
  if (chooses && reached_) clickCell(hit);
  return chooses && reached_;
}

void ProbesView::clickCell(const FigureHit& hit) {
  const ProbeDetail* const detail = judgements_.detail();
  if (detail == nullptr || !hit.cell) return;
  const std::pair<int, int> cell(static_cast<int>(detail->confusion.rows()) - 1 - hit.cell->row,
                                 hit.cell->col);
  changeState(QStringLiteral("List a kind of mistake"), [&] {
    filter_.setCell(filter_.cell() == cell ? std::nullopt : std::optional(cell));
  });
  showDetail();
}

void ProbesView::walkLayers(int step) {
  std::set<int> layers;
  for (const FigureSource& one : measurements_.figureSources(question())) {
    for (const Json& json : one.results.rows) {
      const FigureRow row{&json, 0, &one.path};
      const bool is_shown = row.text("site") == site() && row.has_index("layer", kMostLayers);
      if (is_shown) layers.insert(row.index("layer", kMostLayers));
    }
  }
  if (layers.empty()) return;
  const std::optional<int> now = workspace().selection().layer;
  selectLayer(now        ? std::clamp(*now + step, *layers.begin(), *layers.rbegin())
              : step > 0 ? *layers.begin()
                         : *layers.rbegin());
}

void ProbesView::showDetail() {
  const Answer<ProbeDetail>& answer = measurements_.detail();
  const ProbeDetail* const before = judgements_.detail();
  const bool is_same =
      before != nullptr && answer.result && before->label == answer.result->label &&
      before->site == answer.result->site && before->layer == answer.result->layer &&
      before->tasks == answer.result->tasks && before->question == answer.result->question;
  if (!is_same) {
    const bool other_columns =
        answer.result && (before == nullptr || before->question != answer.result->question);
    if (answer.result && before != nullptr && before->classes != answer.result->classes) {
      filter_.setCell(std::nullopt);
      reached_.reset();
    }
    judgements_.setDetail(answer.result ? std::make_shared<const ProbeDetail>(*answer.result)
                                        : nullptr);
    if (other_columns) {
      const int width = table_->fontMetrics().averageCharWidth();
      const bool of_pairs = answer.result->question == ProbeQuestion::kBlimp;
      table_->setColumnWidth(JudgementsModel::kFirst, width * (of_pairs ? 24 : 10));
      table_->setColumnWidth(JudgementsModel::kSecond, width * 13);
      table_->setColumnWidth(JudgementsModel::kThird, width * 13);
      if (of_pairs) table_->setColumnWidth(JudgementsModel::kSentence, width * 40);
      // The worst mistakes first.
      table_->sortByColumn(of_pairs ? JudgementsModel::kSecond : JudgementsModel::kThird,
                           Qt::AscendingOrder);
    }
  }
  const std::optional<ProbeMeasurements::Place>& place = measurements_.place();
  confusion_->plot().setMessage(!place                      ? kNoLayerChosen
                                : answer.job != 0           ? QStringLiteral("Fitting ...")
                                : !answer.problem.isEmpty() ? answer.problem
                                                            : QString());
  if (!answer.result) {
    detail_title_->setText(place && answer.job != 0 ? QStringLiteral("Fitting ...")
                           : place                  ? QString()
                                                    : kNoLayerChosen);
  } else {
    const ProbeDetail& detail = *answer.result;
    const auto wrong = std::count_if(detail.judgements.begin(), detail.judgements.end(),
                                     [](const ProbeJudgement& one) { return !one.isRight(); });
    detail_title_->setText(
        QStringLiteral("<b>%1, layer %2</b>  %3 of %4 %5 judged wrong%6")
            .arg(detail.label.toHtmlEscaped())
            .arg(detail.layer + preferences().layer_base)
            .arg(wrong)
            .arg(detail.judgements.size())
            .arg(detail.question == ProbeQuestion::kBlimp ? QStringLiteral("pairs with a sentence")
                                                          : QStringLiteral("tokens"),
                 filter_.cell() ? QStringLiteral("; one cell is listed") : QString()));
  }
  showChosen();
  drawConfusion();
}

void ProbesView::selectJudgement() {
  const QModelIndex index = filter_.mapToSource(table_->currentIndex());
  const ProbeDetail* const detail = judgements_.detail();
  if (!index.isValid() || detail == nullptr) return;
  const ProbeJudgement& one = judgements_.at(index.row());
  Selection selection = workspace().selection();
  std::vector<std::int64_t> rows = {one.row};
  if (detail->question == ProbeQuestion::kBlimp) rows.push_back(one.bad_row);
  selection.tokens = tokensAt(detail->sentences->capture(), rows);
  changeSelection(QStringLiteral("Choose a judgement"), selection);
}

void ProbesView::showChosen() {
  const ProbeDetail* const detail = judgements_.detail();
  if (detail == nullptr) return;
  const auto capture = detail->sentences->sharedCapture();
  if (rows_capture_ != capture) {
    rows_capture_ = capture;
    rows_ = std::make_unique<TokenRows>(capture);
  }
  const std::vector<std::int64_t> rows = rows_->find(workspace().selection().tokens).rows;
  const auto isChosen = [&](int row) {
    const ProbeJudgement& one = judgements_.at(row);
    return std::binary_search(rows.begin(), rows.end(), one.row);
  };
  const QSignalBlocker quiet(table_->selectionModel());
  const QModelIndex now = filter_.mapToSource(table_->currentIndex());
  if (now.isValid() && isChosen(now.row())) return;
  QModelIndex wanted;
  for (int row = 0; row < filter_.rowCount() && !rows.empty() && !wanted.isValid(); ++row) {
    const QModelIndex index = filter_.index(row, 0);
    if (isChosen(filter_.mapToSource(index).row())) wanted = index;
  }
  table_->setCurrentIndex(wanted);
  if (wanted.isValid()) table_->scrollTo(wanted);
  table_->viewport()->update();
}

}  // namespace lime::explorer
