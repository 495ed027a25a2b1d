// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/intervention_text.h"

#include <QCheckBox>
#include <QEvent>
#include <QHeaderView>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QTextBlock>
#include <QTextEdit>
#include <QToolButton>

#include "core/files/input_file.h"
#include "explorer/interventions/intervention_figures.h"
#include "explorer/widgets/figure_view.h"

namespace lime::explorer {
namespace {

constexpr std::size_t kLargestText = std::size_t{4} << 20;  // bytes

QString withSign(double value, int digits) {
  const QString number = QString::number(value, 'f', digits);
  return value > 0.0 ? u'+' + number : number;
}

QString lossText(double log_likelihood, const LineScore& line) {
  return QString::number(-log_likelihood / static_cast<double>(line.tokens), 'f', 3);
}

/// Changes below this many nats are no more than a hint of colour, however small the others are.
constexpr double kLeastScale = 1.0;

QString percentOfLog(double log_probability) {
  return u"%1%"_s.arg(100.0 * std::exp(log_probability), 0, 'g', 3);
}

/// Describes a token in place `at` of a line, and the loss that the edits cause.
QString describeScored(const LineReading& before, const LineReading& after, std::size_t at) {
  const QString token = visibleToken(before[at].token);
  if (!before[at].log_probability) return u"'%1': the first token has no prediction"_s.arg(token);
  const double original = *before[at].log_probability;
  const QString text = u"'%1': original probability %2"_s.arg(token, percentOfLog(original));
  if (at >= after.size() || !after[at].log_probability) return text;
  const double edited = *after[at].log_probability;
  return text + u", edited %1; the edits change the loss of this token by %2 nats"_s.arg(
                    percentOfLog(edited), withSign(original - edited, 3));
}

constexpr std::size_t kShownTokens = 7;

/// A choice of the tokens that the loss counts.
struct ScoredChoice {
  const char* title;
  const char* option;   ///< of lime-capture
  const char* example;  ///< of its value
  const char* tool_tip;
};
constexpr std::array kScored = {
    ScoredChoice{"all tokens", "", "", "Every token that has a predecessor in its line"},
    ScoredChoice{"tokens after", "--score-after", "=",
                 "Tokens after the first occurrence of a text in their line"},
    ScoredChoice{"the words", "--score-words", " is, are, was, were",
                 "Words of one token each, separated by commas, with their spaces"},
    ScoredChoice{"positions", "--score-positions", "8-15",
                 "Tokens at these positions of their line, from 0"}};

/// Returns both continuations of a line as HTML; the parts that differ are bold.
QString continuationsHtml(const LineReading& before, const LineReading& after) {
  const QString& original = before.back().continuation;
  const QString& edited = after.back().continuation;
  const auto differs = std::ranges::mismatch(original, edited);
  const qsizetype same = differs.in1 - original.begin();
  const auto paragraph = [same](const QString& title, const QString& text) {
    const auto html = [](const QString& part) {
      return part.toHtmlEscaped().replace(u'\n', u"<br>"_s);
    };
    return u"<p>%1:<br>%2<b>%3</b></p>"_s.arg(title, html(text.first(same)),
                                              html(text.sliced(same)));
  };
  return paragraph(u"Original"_s, original) + paragraph(u"Edited"_s, edited);
}

QToolButton* arrowButton(Qt::ArrowType arrow, const QString& name, const QString& toolTip) {
  auto* const button = new QToolButton;
  button->setArrowType(arrow);
  button->setAutoRaise(true);
  button->setAccessibleName(name);
  button->setToolTip(toolTip);
  return button;
}

}  // namespace

ScoredLines::ScoredLines() {
  using One = const LineScore&;
  const QString help = u"Loss of the line: minus its log-likelihood per token, nats"_s;
  setTable({{u"Line"_s, [](One line) { return QString::number(line.line + 1); }, true},
            {u"Original"_s, [](One line) { return lossText(line.before, line); }, true, help},
            {u"Edited"_s, [](One line) { return lossText(line.after, line); }, true, help},
            {u"Change"_s, [](One line) { return withSign(line.change(), 3); }, true, help},
            {.title = u"Text"_s,
             .text = [](One line) { return line.text; },
             .tool_tip = [](One line) { return line.text; }}},
           {});
}

void ScoredLines::setScores(std::vector<LineScore> lines) {
  std::stable_sort(lines.begin(), lines.end(), [](const LineScore& a, const LineScore& b) {
    return std::abs(a.change()) > std::abs(b.change());
  });
  setRows(std::move(lines));
}

int ScoredLines::rowOfLine(int line) const {
  const auto found = std::find_if(rows().begin(), rows().end(),
                                  [line](const LineScore& one) { return one.line == line; });
  return found == rows().end() ? -1 : static_cast<int>(found - rows().begin());
}

RunBar::RunBar()
    : run_(new QPushButton),
      max_lines_(new QComboBox),
      scored_(nullptr),
      scored_text_(new QLineEdit),
      live_(new QCheckBox(u"run at &every edit"_s)),
      under_way_(new QWidget),
      step_(new QLabel),
      progress_(new QProgressBar) {
  auto* const file = new QPushButton(u"&File..."_s);
  file->setToolTip(u"Load the text from a file"_s);
  run_->setText(u"R&un"_s);
  run_->setToolTip(u"Run the text through the original and the edited model (Ctrl+Return)"_s);
  max_lines_->addItem(u"first 100"_s, 100);
  max_lines_->addItem(u"first 1000"_s, 1000);
  max_lines_->addItem(u"all lines"_s, 0);
  max_lines_->setMinimumWidth(kLeastBoxWidth);
  max_lines_->setAccessibleName(u"number of lines"_s);
  max_lines_->setToolTip(u"Lines that are run; more need more time and disk space"_s);
  live_->setToolTip(u"Rerun after every edit"_s);
  step_->setForegroundRole(QPalette::PlaceholderText);
  step_->setMinimumWidth(40);
  step_->setAccessibleName(u"step of the run"_s);
  progress_->setTextVisible(false);
  progress_->setFixedSize(120, 8);
  progress_->setRange(0, 100);
  progress_->setAccessibleName(u"progress of the run"_s);
  auto* const controls = new QHBoxLayout;
  for (QWidget* const widget : std::initializer_list<QWidget*>{file, max_lines_, run_, live_}) {
    controls->addWidget(widget);
  }
  controls->addStretch();
  auto* const scoring = new QHBoxLayout;
  scored_ = addChoiceBox(*scoring, u"L&oss of"_s, u"Tokens that loss and sweep count"_s);
  for (const ScoredChoice& choice : kScored) {
    addChoice(*scored_, QString::fromUtf8(choice.title), {}, QString::fromUtf8(choice.tool_tip));
  }
  scored_text_->setAccessibleName(u"text, words or positions of the tokens of the loss"_s);
  scored_text_->setMaximumWidth(160);
  scoring->addWidget(scored_text_);
  scoring->addWidget(under_way_, 1);
  scoring->addStretch();
  auto* const state = new QHBoxLayout(under_way_);
  state->setContentsMargins(0, 0, 0, 0);
  state->addWidget(progress_);
  state->addWidget(step_, 1);
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(12, 6, 12, 6);
  column->addLayout(controls);
  column->addLayout(scoring);
  connect(file, &QPushButton::clicked, this, &RunBar::fileRequested);
  connect(run_, &QPushButton::clicked, this, &RunBar::runRequested);
  connect(live_, &QCheckBox::toggled, this,
          [this] { Q_EMIT settingChanged(u"Run at every edit"_s); });
  connect(max_lines_, &QComboBox::activated, this,
          [this] { Q_EMIT settingChanged(u"Select the number of lines"_s); });
  const auto select = [this] {
    setScored(scored_->currentIndex(), scored_text_->text());
    Q_EMIT settingChanged(u"Select the tokens of the loss"_s);
  };
  connect(scored_, &QComboBox::activated, this, select);
  connect(scored_text_, &QLineEdit::editingFinished, this, select);
  setScored(0, {});
}

int RunBar::maxLines() const { return max_lines_->currentData().toInt(); }
void RunBar::setMaxLines(int count) { selectData(*max_lines_, count); }

QStringList RunBar::score() const {
  const auto [choice, text] = scored();
  if (choice == 0 || text.isEmpty()) return {};
  // With "=", or a text that begins with a minus would be taken for an option.
  return {QLatin1String(kScored[static_cast<std::size_t>(choice)].option) + u'=' + text};
}

std::pair<int, QString> RunBar::scored() const {
  return {scored_->currentIndex(), scored_text_->text()};
}

void RunBar::setScored(int choice, const QString& text) {
  choice = std::clamp(choice, 0, static_cast<int>(kScored.size()) - 1);
  const ScoredChoice& chosen = kScored[static_cast<std::size_t>(choice)];
  scored_->setCurrentIndex(choice);
  scored_text_->setVisible(choice > 0);
  scored_text_->setPlaceholderText(QLatin1String(chosen.example));
  scored_text_->setToolTip(QString::fromUtf8(chosen.tool_tip));
  if (text != scored_text_->text()) scored_text_->setText(text);
}

bool RunBar::runsLive() const { return live_->isChecked(); }
void RunBar::setRunsLive(bool live) {
  const QSignalBlocker quiet(live_);
  live_->setChecked(live);
}

void RunBar::setRunnable(bool runnable) { run_->setEnabled(runnable); }

void RunBar::showProgress(const InterventionRun& run) {
  run_->setText(run.isRunning() ? u"S&top"_s : u"R&un"_s);
  under_way_->setVisible(run.isRunning());
  step_->setText(run.stepText());
  progress_->setValue(static_cast<int>(progress_->maximum() * run.share()));
}

TextEditor::TextEditor()
    : text_(new QPlainTextEdit),
      table_(makeTable(scores_, u"lines with their losses"_s)),
      generated_(new QTextEdit) {
  text_->setPlaceholderText(
      u"Type a prompt or a text; each line is a separate sequence.\nCtrl+Return runs it through "
      u"the original and the edited model."_s);
  text_->setAccessibleName(u"input text of the models"_s);
  text_->setTabChangesFocus(true);
  text_->setFrameShape(QFrame::NoFrame);
  text_->setLineWrapMode(QPlainTextEdit::NoWrap);
  text_->installEventFilter(this);
  table_->setAlternatingRowColors(true);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setDefaultSectionSize(84);
  table_->setColumnWidth(ScoredLines::kLine, 48);
  generated_->setReadOnly(true);
  generated_->setFrameShape(QFrame::NoFrame);
  generated_->setAccessibleName(u"text that both models generate"_s);
  generated_->setToolTip(
      u"Greedy continuation of the line by 40 tokens; bold from the first difference on"_s);
  generated_->setPlaceholderText(u"Run the text to see what both models generate after a line."_s);
  QTabBar* const tabs = makeTabs({u"Text"_s, u"Lines, most changed first"_s, u"Generated text"_s},
                                 u"text, its lines with their losses, or the generated text"_s);
  auto* const pages = new QStackedWidget;
  for (QWidget* const page : std::initializer_list<QWidget*>{text_, table_, generated_}) {
    pages->addWidget(page);
  }
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(12, 0, 12, 0);
  column->setSpacing(0);
  column->addWidget(tabs);
  column->addWidget(pages, 1);
  connect(tabs, &QTabBar::currentChanged, pages, &QStackedWidget::setCurrentIndex);
  connect(text_, &QPlainTextEdit::textChanged, this, [this] {
    plain_text_.reset();
    plain_lines_.reset();
  });
  for (const auto signal : {&QTableView::clicked, &QTableView::activated}) {
    connect(table_, signal, this, [this](const QModelIndex& index) {
      Q_EMIT lineSelected(scores_.at(index.row()).line);
    });
  }
}

QString TextEditor::text() const {
  if (!plain_text_) plain_text_ = text_->toPlainText();
  return *plain_text_;
}

void TextEditor::setText(const QString& wanted) {
  if (wanted != text()) text_->setPlainText(wanted);
}

QStringList TextEditor::lines() const {
  if (!plain_lines_) {
    plain_lines_.emplace();
    for (const QString& line : text().split(u'\n')) {
      if (!line.trimmed().isEmpty()) *plain_lines_ << line;
    }
  }
  return *plain_lines_;
}

int TextEditor::cursorLine() const {
  int line = -1;
  QTextBlock block = text_->document()->firstBlock();
  for (; block.isValid(); block = block.next()) {
    if (!block.text().trimmed().isEmpty()) ++line;
    if (block == text_->textCursor().block()) break;
  }
  return std::max(line, 0);
}

void TextEditor::setScores(const std::vector<LineScore>& scores, int current_line) {
  scores_.setScores(scores);
  const int row = scores_.rowOfLine(current_line);
  if (row >= 0) table_->selectRow(row);
}

void TextEditor::setGenerated(const LineReading* before, const LineReading* after) {
  const bool is_known = before != nullptr && after != nullptr;
  generated_->setHtml(is_known ? continuationsHtml(*before, *after) : QString());
}

bool TextEditor::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::FocusOut) Q_EMIT textTyped();
  return QWidget::eventFilter(watched, event);
}

QString readText(const QString& path) {
  const MappedFile file(toPath(path));
  throw_if(file.size() > kLargestText,
           "'{}': text in the explorer is limited to 4 MiB, got {} bytes; use lime-capture --lines "
           "--edit",
           path.toStdString(), file.size());
  return QString::fromUtf8(file.text().data(), static_cast<qsizetype>(file.size()));
}

std::vector<TextToken> scoredTokens(const LineReading& before, const LineReading& after) {
  constexpr float kFullest = 0.75F;  // text stays readable, on dark and on light
  std::vector<std::optional<double>> costs(before.size());
  double largest = kLeastScale;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (!before[i].log_probability || !after[i].log_probability) continue;
    costs[i] = *before[i].log_probability - *after[i].log_probability;
    largest = std::max(largest, std::abs(*costs[i]));
  }
  std::vector<TextToken> tokens;
  for (std::size_t i = 0; i < before.size(); ++i) {
    tokens.push_back(
        {.text = visibleToken(before[i].token), .description = describeScored(before, after, i)});
    if (!costs[i]) continue;
    QColor& ground = tokens.back().ground;
    ground = *costs[i] > 0.0 ? QColor(213, 94, 0) : QColor(0, 114, 178);
    ground.setAlphaF(kFullest * static_cast<float>(std::abs(*costs[i]) / largest));
  }
  if (!before.empty()) tokens.push_back({.text = QChar(0x2026), .description = u"Next token"_s});
  return tokens;
}

LineTokens::LineTokens(FigurePane& next)
    : next_(next),
      title_(makeCaption()),
      previous_line_(
          arrowButton(Qt::LeftArrow, u"previous line"_s, u"Show the previous line (Alt+Up)"_s)),
      next_line_(arrowButton(Qt::RightArrow, u"next line"_s, u"Show the next line (Alt+Down)"_s)),
      list_(new TokenText(u"tokens of the line, coloured by the change in loss"_s)) {
  title_->setTextFormat(Qt::PlainText);
  title_->setForegroundRole(QPalette::PlaceholderText);
  list_->setToolTip(
      u"Orange: lower probability after the intervention; blue: higher. Select a token to see the "
      u"predictions in its place"_s);
  list_->setFixedHeight(3 * (list_->fontMetrics().height() + 10) + 6);
  auto* const row = new QHBoxLayout;
  row->addWidget(title_, 1);
  row->addWidget(previous_line_);
  row->addWidget(next_line_);
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addLayout(row);
  column->addWidget(list_);
  next_.plot().setDescriber([this](const FigureHit& hit) { return describeNext(hit); });
  connect(previous_line_, &QToolButton::clicked, this, [this] { Q_EMIT lineRequested(line_ - 1); });
  connect(next_line_, &QToolButton::clicked, this, [this] { Q_EMIT lineRequested(line_ + 1); });
  const auto describe = [this](int token) {
    Q_EMIT status(token < 0 ? QString()
                            : list_->tokens()[static_cast<std::size_t>(token)].description);
  };
  connect(list_, &TokenText::hovered, this, describe);
  connect(list_, &TokenText::selected, this, [this, describe](int token) {
    describe(token);
    drawNext();
  });
}

void LineTokens::show(const InterventionRun& run) {
  const auto& request = run.request();
  line_ = request ? request->line : 0;
  const int num_lines = request ? static_cast<int>(request->lines.size()) : 0;
  previous_line_->setEnabled(line_ > 0);
  next_line_->setEnabled(line_ + 1 < num_lines);
  title_->setText(
      num_lines == 0
          ? u"Tokens"_s
          : u"Tokens of line %1 of %2, coloured by the change in loss"_s.arg(line_ + 1).arg(
                num_lines));
  const LineReading* const original = run.originalReading();
  const LineReading* const edited = run.editedReading();
  original_ = original == nullptr ? LineReading() : *original;
  edited_ = edited == nullptr ? LineReading() : *edited;
  // The next token is shown, unless the user selected another place.
  const int place = list_->current();
  const bool was_last = place < 0 || place + 1 >= std::ssize(list_->tokens());
  list_->setTokens(scoredTokens(original_, edited_));
  const int last = static_cast<int>(list_->tokens().size()) - 1;
  list_->setCurrent(was_last ? last : std::min(place, last));
  drawNext();
}

void LineTokens::drawNext() {
  const int place = list_->current();
  const auto behind = static_cast<std::size_t>(std::max(place - 1, 0));
  if (place < 1 || behind >= original_.size() || behind >= edited_.size()) {
    next_.show(std::nullopt, place == 0
                                 ? u"The first token has no prediction. Select a later one."_s
                             : original_.empty() ? u"Next-token predictions of both models."_s
                                                 : u"Reading ..."_s);
    return;
  }
  const bool is_end = place == static_cast<int>(original_.size());
  next_.show(nextTokensFigure(original_[behind], edited_[behind], kShownTokens), {},
             is_end
                 ? u"Predicted next token"_s
                 : u"Predicted in place of '%1'"_s.arg(visibleToken(original_[behind + 1].token)));
}

QString LineTokens::describeNext(const FigureHit& hit) const {
  const Figure* const figure = next_.plot().figure();
  if (figure == nullptr || !hit.point) return {};
  const auto& bars = std::get<BarPanel>(figure->panels.front().content);
  const auto value = [&](std::size_t series) {
    return toQString(bars.series[series].stars[hit.point->index]);
  };
  return u"'%1': original %2, edited %3"_s.arg(toQString(bars.groups[hit.point->index]), value(0),
                                               value(1));
}

}  // namespace lime::explorer
