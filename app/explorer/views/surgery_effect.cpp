// SPDX-License-Identifier: Apache-2.0
#include "explorer/views/surgery_effect.h"

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QListView>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QTableView>
#include <QTextBlock>
#include <QToolButton>
#include <QVBoxLayout>

#include "explorer/views/choice_box.h"
#include "explorer/views/figure_pane.h"
#include "explorer/views/figure_view.h"
#include "explorer/views/pane_layout.h"

namespace lime::explorer {
namespace {

constexpr int kSideMargin = 12;

QToolButton* arrowButton(Qt::ArrowType arrow, const QString& name, const QString& toolTip) {
  auto* const button = new QToolButton;
  button->setArrowType(arrow);
  button->setAutoRaise(true);
  button->setAccessibleName(name);
  button->setToolTip(toolTip);
  return button;
}

}  // namespace

SurgeryEffect::SurgeryEffect(QWidget* parent) : QWidget(parent) {
  auto* const upper = new QWidget;
  auto* const column = new QVBoxLayout(upper);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(makeText(), 1);
  column->addWidget(makeRunBar());
  note_ = new QLabel;
  note_->setWordWrap(true);
  note_->setTextFormat(Qt::PlainText);
  note_->setContentsMargins(kSideMargin, 4, kSideMargin, 4);
  note_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  note_->setAccessibleName(QStringLiteral("what to know about the results"));
  note_->setBackgroundRole(QPalette::Midlight);
  note_->setAutoFillBackground(true);
  column->addWidget(note_);
  auto* const lower = new QWidget;
  auto* const results = new QVBoxLayout(lower);
  results->setContentsMargins(0, 0, 0, 0);
  results->setSpacing(0);
  results->addWidget(makeScores());
  results->addWidget(makeLine());
  results->addWidget(makeFigures(), 1);
  QSplitter* const split = makeSplitter(Qt::Vertical, {upper, lower}, {170, 450});
  auto* const page = new QVBoxLayout(this);
  page->setContentsMargins(0, 0, 0, 0);
  page->addWidget(split);
  connectAll();
}

QWidget* SurgeryEffect::makeText() {
  auto* const widget = new QWidget;
  tabs_ = new QTabBar;
  tabs_->addTab(QStringLiteral("Text"));
  tabs_->addTab(QStringLiteral("Lines, most changed first"));
  tabs_->setDrawBase(false);
  tabs_->setExpanding(false);
  tabs_->setAccessibleName(QStringLiteral("text, or its lines with their losses"));
  text_ = new QPlainTextEdit;
  text_->setPlaceholderText(
      QStringLiteral("Type a prompt or a text; every line is read on its own.\nCtrl+Return runs it "
                     "through the model before and after the edits."));
  text_->setAccessibleName(QStringLiteral("text that the models read"));
  text_->setTabChangesFocus(true);
  text_->setFrameShape(QFrame::NoFrame);
  text_->setLineWrapMode(QPlainTextEdit::NoWrap);
  text_->installEventFilter(this);
  table_ = makeTable(lines_, QStringLiteral("lines with their losses"));
  table_->setAlternatingRowColors(true);
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setDefaultSectionSize(84);
  table_->setColumnWidth(SurgeryLines::kLine, 48);
  pages_ = new QStackedWidget;
  pages_->addWidget(text_);
  pages_->addWidget(table_);
  auto* const column = new QVBoxLayout(widget);
  column->setContentsMargins(kSideMargin, 0, kSideMargin, 0);
  column->setSpacing(0);
  column->addWidget(tabs_);
  column->addWidget(pages_, 1);
  return widget;
}

QWidget* SurgeryEffect::makeRunBar() {
  auto* const bar = new QWidget;
  file_ = new QPushButton(QStringLiteral("&File..."));
  file_->setToolTip(QStringLiteral("Reads the text from a file"));
  run_ = new QPushButton(QStringLiteral("R&un"));
  run_->setToolTip(
      QStringLiteral("Runs the text through the model as trained and edited (Ctrl+Return)"));
  max_lines_ = new QComboBox;
  max_lines_->addItem(QStringLiteral("first 100 lines"), 100);
  max_lines_->addItem(QStringLiteral("first 1000 lines"), 1000);
  max_lines_->addItem(QStringLiteral("all lines"), 0);
  max_lines_->setAccessibleName(QStringLiteral("lines that are run"));
  max_lines_->setToolTip(
      QStringLiteral("More lines take longer, and room for the activations of their tokens"));
  live_ = new QCheckBox(QStringLiteral("at &every edit"));
  live_->setToolTip(QStringLiteral("Runs again as soon as an edit changes"));
  step_ = new QLabel;
  step_->setForegroundRole(QPalette::PlaceholderText);
  step_->setMinimumWidth(40);
  step_->setAccessibleName(QStringLiteral("step of the run"));
  progress_ = new QProgressBar;
  progress_->setTextVisible(false);
  progress_->setFixedSize(120, 8);
  progress_->setRange(0, 100);
  progress_->setAccessibleName(QStringLiteral("part of the run that is done"));
  auto* const controls = new QHBoxLayout;
  controls->addWidget(file_);
  controls->addWidget(max_lines_);
  controls->addWidget(run_);
  controls->addWidget(live_);
  controls->addStretch();
  under_way_ = new QWidget;
  auto* const state = new QHBoxLayout(under_way_);
  state->setContentsMargins(0, 0, 0, 0);
  state->addWidget(progress_);
  state->addWidget(step_, 1);
  auto* const column = new QVBoxLayout(bar);
  column->setContentsMargins(kSideMargin, 6, kSideMargin, 6);
  column->addLayout(controls);
  column->addWidget(under_way_);
  return bar;
}

SurgeryEffect::Card SurgeryEffect::addCard(QGridLayout& grid, int column, const QString& title,
                                           const QString& toolTip) {
  auto* const caption = new QLabel(title);
  caption->setForegroundRole(QPalette::PlaceholderText);
  Card card{new QLabel, new QLabel};
  QFont large = card.values->font();
  large.setPointSizeF(1.2 * large.pointSizeF());
  card.values->setFont(large);
  card.values->setAccessibleName(title);
  int row = 0;
  for (QLabel* const label : {caption, card.values, card.change}) {
    label->setToolTip(toolTip);
    label->setTextFormat(Qt::PlainText);
    label->setMinimumWidth(40);
    if (label != caption) label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    grid.addWidget(label, row++, column);
  }
  grid.setColumnStretch(column, 1);
  return card;
}

QWidget* SurgeryEffect::makeScores() {
  auto* const scores = new QWidget;
  auto* const grid = new QGridLayout(scores);
  grid->setContentsMargins(kSideMargin, 6, kSideMargin, 6);
  grid->setVerticalSpacing(0);
  loss_ = addCard(*grid, 0, QStringLiteral("Loss, nats per token"),
                  QStringLiteral("Minus the mean log-probability of the text's tokens, each behind "
                                 "those before it in its line"));
  perplexity_ = addCard(*grid, 1, QStringLiteral("Perplexity"),
                        QStringLiteral("exp of the loss: among how many equally likely tokens the "
                                       "model chooses on average"));
  likelihood_ = addCard(*grid, 2, QStringLiteral("Log-likelihood, nats"),
                        QStringLiteral("Sum of the log-probabilities of the text's tokens"));
  return scores;
}

QWidget* SurgeryEffect::makeLine() {
  auto* const widget = new QWidget;
  line_title_ = new QLabel;
  line_title_->setTextFormat(Qt::PlainText);
  line_title_->setForegroundRole(QPalette::PlaceholderText);
  line_title_->setMinimumWidth(40);
  line_before_ = arrowButton(Qt::LeftArrow, QStringLiteral("line before"),
                             QStringLiteral("Reads the line before (Alt+Up)"));
  line_after_ = arrowButton(Qt::RightArrow, QStringLiteral("line after"),
                            QStringLiteral("Reads the line after (Alt+Down)"));
  token_list_ = new QListView;
  token_list_->setModel(&tokens_);
  token_list_->setFlow(QListView::LeftToRight);
  token_list_->setWrapping(true);
  token_list_->setResizeMode(QListView::Adjust);
  token_list_->setSpacing(1);
  token_list_->setFrameShape(QFrame::NoFrame);
  token_list_->setMouseTracking(true);
  token_list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  token_list_->setAccessibleName(
      QStringLiteral("tokens of the line, coloured by what the edits cost"));
  token_list_->setToolTip(QStringLiteral(
      "Orange: less likely after the edits; blue: more likely. Choose a token to see what was "
      "expected in its place"));
  token_list_->setFixedHeight(3 * (token_list_->fontMetrics().height() + 6));
  auto* const title = new QHBoxLayout;
  title->addWidget(line_title_, 1);
  title->addWidget(line_before_);
  title->addWidget(line_after_);
  auto* const column = new QVBoxLayout(widget);
  column->setContentsMargins(kSideMargin, 0, kSideMargin, 4);
  column->setSpacing(0);
  column->addLayout(title);
  column->addWidget(token_list_);
  return widget;
}

QWidget* SurgeryEffect::makeFigures() {
  next_ = new FigurePane(QStringLiteral("tokens that the models expect"));
  entropies_ = new FigurePane(QStringLiteral("entropies over layers"));
  site_ = new QComboBox;
  site_->setAccessibleName(QStringLiteral("activations whose entropy is shown"));
  site_->addItem(QStringLiteral("values"), QStringLiteral("values"));
  site_->addItem(QStringLiteral("routed values"), QStringLiteral("routed_values"));
  site_->addItem(QStringLiteral("hidden"), QStringLiteral("hidden"));
  site_->setToolTip(QStringLiteral(
      "Matrix-based Renyi entropy of order 1/2 of the text's tokens (Sanchez Giraldo et al. 2015): "
      "of the outputs of W_V, of what attention reads through the router, or of the residual "
      "stream"));
  auto* const right = new QWidget;
  auto* const column = new QVBoxLayout(right);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* const bar = new QHBoxLayout;
  bar->setContentsMargins(kSideMargin, 0, kSideMargin, 0);
  bar->addStretch();
  bar->addWidget(site_);
  column->addWidget(entropies_, 1);
  column->addLayout(bar);
  QSplitter* const split = makeSplitter(Qt::Horizontal, {next_, right}, {300, 300});
  return split;
}

void SurgeryEffect::connectAll() {
  connect(tabs_, &QTabBar::currentChanged, pages_, &QStackedWidget::setCurrentIndex);
  connect(text_, &QPlainTextEdit::textChanged, this, [this] {
    plain_text_.reset();
    plain_lines_.reset();
  });
  connect(file_, &QPushButton::clicked, this, &SurgeryEffect::fileWanted);
  connect(run_, &QPushButton::clicked, this, [this] {
    if (is_running_) {
      Q_EMIT stopWanted();
    } else {
      Q_EMIT runWanted();
    }
  });
  connect(live_, &QCheckBox::toggled, this,
          [this] { Q_EMIT choiceChanged(QStringLiteral("Run at every edit")); });
  connect(max_lines_, &QComboBox::activated, this,
          [this] { Q_EMIT choiceChanged(QStringLiteral("Choose how many lines")); });
  connect(site_, &QComboBox::activated, this,
          [this] { Q_EMIT choiceChanged(QStringLiteral("Choose the activations")); });
  connect(line_before_, &QToolButton::clicked, this, [this] { Q_EMIT lineWanted(line_ - 1); });
  connect(line_after_, &QToolButton::clicked, this, [this] { Q_EMIT lineWanted(line_ + 1); });
  connect(table_, &QTableView::clicked, this,
          [this](const QModelIndex& index) { Q_EMIT lineWanted(lines_.lineAt(index.row())); });
  connect(table_, &QTableView::activated, this,
          [this](const QModelIndex& index) { Q_EMIT lineWanted(lines_.lineAt(index.row())); });
  connect(token_list_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& index) {
            Q_EMIT status(tokens_.describe(index.row()));
            showNext();
          });
  connect(token_list_, &QListView::entered, this,
          [this](const QModelIndex& index) { Q_EMIT status(tokens_.describe(index.row())); });
  connect(&next_->plot(), &FigureView::hovered, this, &SurgeryEffect::describeNext);
  connect(&entropies_->plot(), &FigureView::hovered, this, &SurgeryEffect::describeEntropies);
  for (FigurePane* const pane : {next_, entropies_}) {
    connect(&pane->plot(), &FigureView::unhovered, this, [this] { Q_EMIT status({}); });
  }
}

QString SurgeryEffect::text() const {
  if (!plain_text_) plain_text_ = text_->toPlainText();
  return *plain_text_;
}

void SurgeryEffect::setText(const QString& wanted) {
  if (wanted != text()) text_->setPlainText(wanted);
}

QStringList SurgeryEffect::lines() const {
  if (!plain_lines_) {
    plain_lines_.emplace();
    for (const QString& line : text().split(QLatin1Char('\n'))) {
      if (!line.trimmed().isEmpty()) *plain_lines_ << line;
    }
  }
  return maxLines() > 0 ? plain_lines_->mid(0, maxLines()) : *plain_lines_;
}

int SurgeryEffect::maxLines() const { return max_lines_->currentData().toInt(); }
void SurgeryEffect::setMaxLines(int count) { chooseData(*max_lines_, count); }

int SurgeryEffect::cursorLine() const {
  int line = -1;
  QTextBlock block = text_->document()->firstBlock();
  for (; block.isValid(); block = block.next()) {
    if (!block.text().trimmed().isEmpty()) ++line;
    if (block == text_->textCursor().block()) break;
  }
  return std::max(line, 0);
}

bool SurgeryEffect::runsLive() const { return live_->isChecked(); }
void SurgeryEffect::setRunsLive(bool live) {
  const QSignalBlocker quiet(live_);
  live_->setChecked(live);
}

QString SurgeryEffect::site() const { return site_->currentData().toString(); }
void SurgeryEffect::setSite(const QString& site) { chooseData(*site_, site); }

void SurgeryEffect::setRunnable(bool runnable) { run_->setEnabled(runnable); }

bool SurgeryEffect::eventFilter(QObject* watched, QEvent* event) {
  if (watched == text_ && event->type() == QEvent::FocusOut) Q_EMIT textTyped();
  return QWidget::eventFilter(watched, event);
}

}  // namespace lime::explorer
