// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/line_tokens.h"

#include <QHBoxLayout>
#include <QItemSelectionModel>
#include <QLabel>
#include <QListView>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "explorer/interventions/intervention_run.h"
#include "explorer/models/text.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/pane_layout.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kShownTokens = 7;

QToolButton* arrowButton(Qt::ArrowType arrow, const QString& name, const QString& toolTip) {
  auto* const button = new QToolButton;
  button->setArrowType(arrow);
  button->setAutoRaise(true);
  button->setAccessibleName(name);
  button->setToolTip(toolTip);
  return button;
}

}  // namespace

LineTokens::LineTokens(FigurePane& next, QWidget* parent)
    : QWidget(parent),
      next_(next),
      title_(new QLabel),
      previous_line_(arrowButton(Qt::LeftArrow, QStringLiteral("previous line"),
                                 QStringLiteral("Show the previous line (Alt+Up)"))),
      next_line_(arrowButton(Qt::RightArrow, QStringLiteral("next line"),
                             QStringLiteral("Show the next line (Alt+Down)"))),
      list_(new QListView) {
  title_->setTextFormat(Qt::PlainText);
  title_->setForegroundRole(QPalette::PlaceholderText);
  title_->setMinimumWidth(40);
  list_->setModel(&model_);
  list_->setFlow(QListView::LeftToRight);
  list_->setWrapping(true);
  list_->setResizeMode(QListView::Adjust);
  list_->setSpacing(1);
  list_->setFrameShape(QFrame::NoFrame);
  list_->setMouseTracking(true);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setAccessibleName(QStringLiteral("tokens of the line, coloured by the change in loss"));
  list_->setToolTip(QStringLiteral(
      "Orange: lower probability after the intervention; blue: higher. Select a token to see the "
      "predictions in its place"));
  list_->setFixedHeight(3 * (list_->fontMetrics().height() + 6));
  auto* const row = new QHBoxLayout;
  row->addWidget(title_, 1);
  row->addWidget(previous_line_);
  row->addWidget(next_line_);
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(12, 0, 12, 4);
  column->setSpacing(0);
  column->addLayout(row);
  column->addWidget(list_);
  next_.plot().setDescriber([this](const FigureHit& hit) { return describeNext(hit); });
  connect(previous_line_, &QToolButton::clicked, this, [this] { Q_EMIT lineRequested(line_ - 1); });
  connect(next_line_, &QToolButton::clicked, this, [this] { Q_EMIT lineRequested(line_ + 1); });
  connect(list_, &QListView::entered, this,
          [this](const QModelIndex& index) { Q_EMIT status(model_.describe(index.row())); });
  connect(list_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& index) {
            Q_EMIT status(model_.describe(index.row()));
            drawNext();
          });
}

void LineTokens::show(const InterventionRun& run) {
  const auto& request = run.question();
  line_ = request ? request->line : 0;
  const int num_lines = request ? static_cast<int>(request->lines.size()) : 0;
  previous_line_->setEnabled(line_ > 0);
  next_line_->setEnabled(line_ + 1 < num_lines);
  title_->setText(num_lines == 0
                      ? QStringLiteral("Tokens")
                      : QStringLiteral("Tokens of line %1 of %2, coloured by the change in loss")
                            .arg(line_ + 1)
                            .arg(num_lines));
  const LineReading* const original = run.trainedReading();
  const LineReading* const edited = run.editedReading();
  const LineReading before = original == nullptr ? LineReading() : *original;
  const LineReading after = edited == nullptr ? LineReading() : *edited;
  if (before != original_ || after != edited_) {
    original_ = before;
    edited_ = after;
    const QSignalBlocker quiet(list_->selectionModel());
    const int place = list_->currentIndex().row();
    const bool was_last = place < 0 || place + 1 >= model_.rowCount();
    model_.setReadings(original_, edited_);
    // The next token is shown, unless the user selected another place.
    const int last = model_.rowCount() - 1;
    list_->setCurrentIndex(model_.index(was_last ? last : std::min(place, last), 0));
    list_->scrollTo(list_->currentIndex());
  }
  drawNext();
}

void LineTokens::drawNext() {
  const int place = list_->currentIndex().row();
  const auto behind = static_cast<std::size_t>(std::max(place - 1, 0));
  if (place < 1 || behind >= original_.size() || behind >= edited_.size()) {
    next_.show(std::nullopt,
               place == 0 ? QStringLiteral("The first token has no prediction. Select a later one.")
               : original_.empty() ? QStringLiteral("Next-token predictions of both models.")
                                   : QStringLiteral("Reading ..."));
    return;
  }
  next_.show(nextTokensFigure(original_[behind], edited_[behind], kShownTokens), {});
  const bool is_end = place == static_cast<int>(original_.size());
  next_.setCaption(is_end ? QStringLiteral("Predicted next token")
                          : QStringLiteral("Predicted in place of '%1'")
                                .arg(visibleToken(original_[behind + 1].token)));
}

QString LineTokens::describeNext(const FigureHit& hit) const {
  const Figure* const figure = next_.plot().figure();
  if (figure == nullptr || !hit.point) return {};
  const auto& bars = std::get<BarPanel>(figure->panels.front().content);
  const auto value = [&](std::size_t series) {
    return toQString(bars.series[series].stars[hit.point->index]);
  };
  return QStringLiteral("'%1': original %2, edited %3")
      .arg(toQString(bars.groups[hit.point->index]), value(0), value(1));
}

}  // namespace lime::explorer
