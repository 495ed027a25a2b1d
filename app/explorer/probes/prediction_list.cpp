// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/prediction_list.h"

#include <QCheckBox>

#include "explorer/probes/probe_question.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/sentence_delegate.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

QString percent(double share) { return u"%1%"_s.arg(100.0 * share, 0, 'f', 1); }

QString classText(const ProbeDetail& detail, int number) {
  return toQString(printable(detail.classes[static_cast<std::size_t>(number)]));
}

QString tick(bool is_correct) { return is_correct ? u"\u2713 "_s : u"\u2717 "_s; }

}  // namespace

void PredictionsModel::setDetail(std::shared_ptr<const ProbeDetail> detail) {
  detail_ = std::move(detail);
  sentences_.clear();
  if (!detail_) {
    setRows({});
  } else {
    setTable(detail_->place.question == ProbeQuestion::kBlimp ? pairColumns() : tokenColumns(),
             detail_->predictions);
  }
}

QString PredictionsModel::textOf(std::int64_t capture_row) const {
  const CaptureReader& capture = detail_->sentences->capture();
  const auto sequence = capture.rows().sequence[static_cast<std::size_t>(capture_row)];
  return toQString(capture.sequences()[static_cast<std::size_t>(sequence)].text)
      .replace(u'\n', u' ');
}

QString PredictionsModel::text(int row) const {
  const QString own = textOf(at(row).row);
  return detail_->place.question == ProbeQuestion::kBlimp ? own + u'\n' + textOf(at(row).bad_row)
                                                          : own;
}

const TokenInSentence& PredictionsModel::sentenceOf(const ProbePrediction& prediction) const {
  const auto [at, is_new] = sentences_.try_emplace(prediction.row);
  if (is_new) {
    const RowTable& rows = detail_->sentences->capture().rows();
    const auto place = static_cast<std::size_t>(prediction.row);
    at->second =
        detail_->sentences->at(rows.sequence[place], rows.position[place], rows.token[place]);
  }
  return at->second;
}

PredictionsModel::Cell PredictionsModel::column(const char* title, const char* help, Value text,
                                                Value sorted) {
  return {.title = QString::fromUtf8(title),
          .text = std::move(text),
          .help = QString::fromUtf8(help),
          .tool_tip =
              [this](const ProbePrediction& probe_prediction) { return toolTip(probe_prediction); },
          .further = [sorted = std::move(sorted)](
                         const ProbePrediction& item,
                         int role) { return role == kSort ? sorted(item) : QVariant(); }};
}

std::vector<PredictionsModel::Cell> PredictionsModel::tokenColumns() {
  using One = const ProbePrediction&;
  std::vector<Cell> columns = {
      column(
          "True", "The class of the token",
          [this](One item) { return classText(*detail_, item.truth); },
          [](One element) { return element.truth; }),
      column(
          "Predicted", "The class with the largest probability",
          [this](One one) { return tick(one.isCorrect()) + classText(*detail_, one.predicted); },
          [](One one) { return one.predicted; }),
      column(
          "p(true)", "Probability of the true class, by the fold that did not train on the token",
          [](One one) { return percent(one.truth_probability); },
          [](One one) { return one.truth_probability; }),
      column(
          "Sentence", "The token in its sentence",
          [this](One one) { return sentenceOf(one).text(); },
          [](One one) { return static_cast<qlonglong>(one.row); })};
  columns.back().further = [this, others = columns.back().further](One one, int role) {
    return role == kSentenceRole ? QVariant::fromValue(sentenceOf(one)) : others(one, role);
  };
  return columns;
}

std::vector<PredictionsModel::Cell> PredictionsModel::pairColumns() {
  using One = const ProbePrediction&;
  return {
      column(
          "Task", "Paradigm of BLiMP (UID)",
          [this](One item) {
            return toQString(detail_->tasks[static_cast<std::size_t>(item.task)]);
          },
          [](One element) { return element.task; }),
      column(
          "p(good)",
          "Predicted probability that the good sentence is acceptable: correct above 50%",
          [](One one) { return tick(one.good_is_correct) + percent(one.truth_probability); },
          [](One one) { return one.truth_probability; }),
      column(
          "p(bad)", "Predicted probability that the bad sentence is acceptable: correct below 50%",
          [](One one) { return tick(one.bad_is_correct) + percent(one.predicted_probability); },
          [](One one) { return one.predicted_probability; }),
      column(
          "Good sentence", "The acceptable sentence", [this](One one) { return textOf(one.row); },
          [](One one) { return static_cast<qlonglong>(one.row); }),
      column(
          "Bad sentence", "The unacceptable sentence",
          [this](One one) { return textOf(one.bad_row); },
          [](One one) { return static_cast<qlonglong>(one.bad_row); })};
}

QString PredictionsModel::toolTip(const ProbePrediction& probe_prediction) const {
  if (detail_->place.question == ProbeQuestion::kBlimp) {
    return u"%1, pair %2\ngood: %3\n  predicted good with %4\nbad: %5\n  predicted good with %6"_s
        .arg(toQString(detail_->tasks[static_cast<std::size_t>(probe_prediction.task)]))
        .arg(probe_prediction.pair)
        .arg(textOf(probe_prediction.row), percent(probe_prediction.truth_probability),
             textOf(probe_prediction.bad_row), percent(probe_prediction.predicted_probability));
  }
  const RowTable& rows = detail_->sentences->capture().rows();
  const auto place = static_cast<std::size_t>(probe_prediction.row);
  return u"%1, predicted as %2 with %3 (%1: %4)\nsequence %5, position %6\n%7"_s
      .arg(classText(*detail_, probe_prediction.truth),
           classText(*detail_, probe_prediction.predicted),
           percent(probe_prediction.predicted_probability),
           percent(probe_prediction.truth_probability))
      .arg(rows.sequence[place])
      .arg(rows.position[place])
      .arg(textOf(probe_prediction.row).left(600));
}

PredictionsFilter::PredictionsFilter() { setSortRole(PredictionsModel::kSort); }

bool PredictionsFilter::filterAcceptsRow(int row, const QModelIndex&) const {
  const auto* const model = static_cast<const PredictionsModel*>(sourceModel());
  if (model == nullptr || model->detail() == nullptr) return false;
  const ProbePrediction& probe_prediction = model->at(row);
  if (cell_) {
    if (!probe_prediction.isOfCell(model->detail()->place.question, cell_->first, cell_->second))
      return false;
  } else if (misclassified_only_ && probe_prediction.isCorrect()) {
    return false;
  }
  return text_.isEmpty() || model->text(row).contains(text_, Qt::CaseInsensitive);
}

PredictionList::PredictionList()
    : title_(makeCaption()),
      misclassified_only_(new QCheckBox(u"Misclassified &only"_s)),
      search_(makeSearch(u"find in sentences"_s, {})) {
  misclassified_only_->setToolTip(u"Hide correct predictions"_s);
  misclassified_only_->setChecked(true);
  search_->setMaximumWidth(180);
  title_->setWordWrap(true);
  filter_.setSourceModel(&model_);
  table_ = makeTable(filter_, u"predictions of the probe"_s);
  table_->setItemDelegateForColumn(PredictionsModel::kSentence, new SentenceDelegate(table_));
  table_->setAlternatingRowColors(true);
  table_->setSortingEnabled(true);
  auto* const bar = new QHBoxLayout;
  bar->setContentsMargins(0, 0, 12, 0);
  bar->addWidget(title_, 1);
  bar->addWidget(misclassified_only_);
  bar->addWidget(search_);
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addLayout(bar);
  column->addWidget(table_, 1);
  connect(misclassified_only_, &QCheckBox::toggled, this, [this](bool is_on) {
    filter_.setMisclassifiedOnly(is_on);
    Q_EMIT misclassifiedOnlyChanged();
  });
  connect(search_, &QLineEdit::textChanged, &filter_, &PredictionsFilter::setText);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &PredictionList::selectTokens);
}

void PredictionList::setDetail(std::shared_ptr<const ProbeDetail> detail, const QString& message,
                               int layer_base) {
  layer_base_ = layer_base;
  const ProbeDetail* const before = model_.detail();
  if (detail.get() != before) {
    const bool has_other_columns =
        detail && (before == nullptr || before->place.question != detail->place.question);
    if (detail && before != nullptr && before->classes != detail->classes) {
      filter_.setCell(std::nullopt);
    }
    model_.setDetail(std::move(detail));
    if (has_other_columns) setColumns();
  }
  updateTitle(message);
}

void PredictionList::setColumns() {
  const int width = table_->fontMetrics().averageCharWidth();
  const bool of_pairs = model_.detail()->place.question == ProbeQuestion::kBlimp;
  table_->setColumnWidth(PredictionsModel::kFirst, width * (of_pairs ? 24 : 10));
  table_->setColumnWidth(PredictionsModel::kSecond, width * 13);
  table_->setColumnWidth(PredictionsModel::kThird, width * 13);
  if (of_pairs) table_->setColumnWidth(PredictionsModel::kSentence, width * 40);
  // The least probable first.
  table_->sortByColumn(of_pairs ? PredictionsModel::kSecond : PredictionsModel::kThird,
                       Qt::AscendingOrder);
}

void PredictionList::updateTitle(const QString& message) {
  const ProbeDetail* const detail = model_.detail();
  if (detail == nullptr) {
    title_->setText(message);
    return;
  }
  const auto wrong = std::ranges::count_if(
      detail->predictions,
      [](const ProbePrediction& probe_prediction) { return !probe_prediction.isCorrect(); });
  const bool of_pairs = detail->place.question == ProbeQuestion::kBlimp;
  title_->setText(
      u"%1, layer %2: %3 of %4 %5%6"_s.arg(detail->place.label)
          .arg(detail->place.layer + layer_base_)
          .arg(wrong)
          .arg(detail->predictions.size())
          .arg(of_pairs ? u"pairs have a misclassified sentence"_s : u"tokens are misclassified"_s,
               cell() ? u"; one cell is listed"_s : QString()));
}

bool PredictionList::isMisclassifiedOnly() const { return misclassified_only_->isChecked(); }

void PredictionList::setMisclassifiedOnly(bool misclassified_only) {
  const QSignalBlocker quiet(misclassified_only_);
  misclassified_only_->setChecked(misclassified_only);
  filter_.setMisclassifiedOnly(misclassified_only);
}

void PredictionList::focusSearch() { search_->setFocus(Qt::ShortcutFocusReason); }

void PredictionList::selectTokens() {
  const QModelIndex index = filter_.mapToSource(table_->currentIndex());
  const ProbeDetail* const detail = model_.detail();
  if (!index.isValid() || detail == nullptr) return;
  const ProbePrediction& probe_prediction = model_.at(index.row());
  std::vector<std::int64_t> rows = {probe_prediction.row};
  if (detail->place.question == ProbeQuestion::kBlimp) rows.push_back(probe_prediction.bad_row);
  Q_EMIT tokensSelected(tokensAt(detail->sentences->capture(), rows));
}

void PredictionList::showSelected(const TokenSelection& selected) {
  const ProbeDetail* const detail = model_.detail();
  if (detail == nullptr) return;
  if (const auto& capture = detail->sentences->sharedCapture(); rows_capture_ != capture) {
    rows_capture_ = capture;
    rows_ = std::make_unique<TokenRows>(capture);
  }
  const std::vector<std::int64_t> rows = rows_->find(selected).rows;
  const auto isSelected = [&](const QModelIndex& index) {
    return std::ranges::binary_search(rows, model_.at(filter_.mapToSource(index).row()).row);
  };
  const QModelIndex now = table_->currentIndex();
  if (now.isValid() && isSelected(now)) return;
  QModelIndex model_index;
  for (int row = 0; row < filter_.rowCount() && !rows.empty() && !model_index.isValid(); ++row) {
    if (isSelected(filter_.index(row, 0))) model_index = filter_.index(row, 0);
  }
  setCurrentQuietly(*table_, model_index);
  if (model_index.isValid()) table_->scrollTo(model_index);
}

ConfusionPane::ConfusionPane() : FigurePane(u"confusion matrix"_s) {
  plot().setKeepsAspect(true);
  plot().setDescriber([this](const FigureHit& hit) {
    const std::optional<Cell> cell = cellAt(hit);
    return cell ? describe(*cell) : QString();
  });
  connect(&plot(), &FigureView::clicked, this, [this](const FigureHit& hit) {
    if (const std::optional<Cell> cell = cellAt(hit)) Q_EMIT cellClicked(*cell);
  });
}

void ConfusionPane::draw(std::shared_ptr<const ProbeDetail> detail, bool is_normalised,
                         const QString& message) {
  if (detail && detail_ && detail->classes != detail_->classes) reached_.reset();
  detail_ = std::move(detail);
  if (!detail_) {
    show(std::nullopt, message);
    return;
  }
  show(confusionFigure(*detail_, is_normalised), {},
       u"Confusion matrix, accuracy %1"_s.arg(detail_->accuracy(), 0, 'f', 3));
  markCells(selected_);
}

void ConfusionPane::markCells(const std::optional<Cell>& selected) {
  selected_ = selected;
  if (!detail_) return;
  const auto count = static_cast<double>(detail_->confusion.rows());
  std::vector<FigureMark> marks;
  const auto add = [&](const std::optional<Cell>& cell, bool is_strong) {
    if (!cell) return;
    marks.push_back({.panel = 0,
                     .area = QRectF(cell->second - 0.5, count - 1.5 - cell->first, 1.0, 1.0),
                     .is_strong = is_strong});
  };
  add(reached_, false);
  add(selected_, true);
  plot().setMarks(std::move(marks));
}

std::optional<ConfusionPane::Cell> ConfusionPane::cellAt(const FigureHit& hit) const {
  if (!detail_ || !hit.cell) return std::nullopt;
  return Cell(static_cast<int>(detail_->confusion.rows()) - 1 - hit.cell->row, hit.cell->col);
}

QString ConfusionPane::describe(const Cell& cell) const {
  const auto name = [this](int number) {
    return toQString(detail_->classes[static_cast<std::size_t>(number)]).trimmed();
  };
  const int count = detail_->confusion(cell.first, cell.second);
  return u"%1 predicted as %2: %3, %4% of its row; click to list them"_s
      .arg(name(cell.first), name(cell.second))
      .arg(count)
      .arg(100.0 * count / std::max(1, detail_->confusion.row(cell.first).sum()), 0, 'f', 1);
}

bool ConfusionPane::walk(const QKeyEvent& event) {
  if (!detail_ || event.modifiers() != Qt::NoModifier) return false;
  const QPointF step = arrowDirection(event);
  if (!step.isNull()) {
    const int last = static_cast<int>(detail_->confusion.rows()) - 1;
    reached_ = reached_ ? Cell(std::clamp(reached_->first + static_cast<int>(step.y()), 0, last),
                               std::clamp(reached_->second + static_cast<int>(step.x()), 0, last))
                        : Cell(0, 0);
    markCells(selected_);
    plot().setAccessibleDescription(describe(*reached_));
    Q_EMIT plot().status(describe(*reached_));
    return true;
  }
  const int key = event.key();
  const bool selects = key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space;
  if (selects && reached_) Q_EMIT cellClicked(*reached_);
  return selects && reached_;
}

bool ConfusionPane::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress && walk(*static_cast<QKeyEvent*>(event))) return true;
  return FigurePane::eventFilter(watched, event);
}

}  // namespace lime::explorer
