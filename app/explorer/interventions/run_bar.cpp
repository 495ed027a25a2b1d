// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/run_bar.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPalette>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>

#include "explorer/widgets/controls.h"

namespace lime::explorer {
namespace {

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

}  // namespace

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
  auto* const controls = new BarLayout;
  for (QWidget* const widget : std::initializer_list<QWidget*>{file, max_lines_, run_, live_}) {
    controls->addWidget(widget);
  }
  auto* const scoring = new BarLayout;
  scored_ = addChoiceBox(*scoring, u"L&oss of"_s, u"Tokens that loss and sweep count"_s);
  for (const ScoredChoice& choice : kScored) {
    addChoice(*scored_, QString::fromUtf8(choice.title), {}, QString::fromUtf8(choice.tool_tip));
  }
  scored_text_->setAccessibleName(u"text, words or positions of the tokens of the loss"_s);
  scored_text_->setMaximumWidth(160);
  scoring->addWidget(scored_text_);
  under_way_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  scoring->addWidget(under_way_);
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

}  // namespace lime::explorer
