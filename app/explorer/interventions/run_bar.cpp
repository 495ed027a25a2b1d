// SPDX-License-Identifier: Apache-2.0
#include "explorer/interventions/run_bar.h"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "explorer/interventions/intervention_run.h"
#include "explorer/widgets/choice_box.h"

namespace lime::explorer {

RunBar::RunBar(QWidget* parent)
    : QWidget(parent),
      run_(new QPushButton),
      max_lines_(new QComboBox),
      live_(new QCheckBox(QStringLiteral("at &every edit"))),
      under_way_(new QWidget),
      step_(new QLabel),
      progress_(new QProgressBar) {
  auto* const file = new QPushButton(QStringLiteral("&File..."));
  file->setToolTip(QStringLiteral("Load the text from a file"));
  run_->setText(QStringLiteral("R&un"));
  run_->setToolTip(
      QStringLiteral("Run the text through the original and the edited model (Ctrl+Return)"));
  max_lines_->addItem(QStringLiteral("first 100 lines"), 100);
  max_lines_->addItem(QStringLiteral("first 1000 lines"), 1000);
  max_lines_->addItem(QStringLiteral("all lines"), 0);
  max_lines_->setAccessibleName(QStringLiteral("number of lines"));
  max_lines_->setToolTip(
      QStringLiteral("More lines take more time and more disk space for activations"));
  live_->setToolTip(QStringLiteral("Rerun as soon as an edit changes"));
  step_->setForegroundRole(QPalette::PlaceholderText);
  step_->setMinimumWidth(40);
  step_->setAccessibleName(QStringLiteral("step of the run"));
  progress_->setTextVisible(false);
  progress_->setFixedSize(120, 8);
  progress_->setRange(0, 100);
  progress_->setAccessibleName(QStringLiteral("progress of the run"));
  auto* const controls = new QHBoxLayout;
  for (QWidget* const widget : std::initializer_list<QWidget*>{file, max_lines_, run_, live_}) {
    controls->addWidget(widget);
  }
  controls->addStretch();
  auto* const state = new QHBoxLayout(under_way_);
  state->setContentsMargins(0, 0, 0, 0);
  state->addWidget(progress_);
  state->addWidget(step_, 1);
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(12, 6, 12, 6);
  column->addLayout(controls);
  column->addWidget(under_way_);
  connect(file, &QPushButton::clicked, this, &RunBar::fileRequested);
  connect(run_, &QPushButton::clicked, this, [this] {
    if (is_running_) {
      Q_EMIT stopRequested();
    } else {
      Q_EMIT runRequested();
    }
  });
  connect(live_, &QCheckBox::toggled, this,
          [this] { Q_EMIT settingChanged(QStringLiteral("Run at every edit")); });
  connect(max_lines_, &QComboBox::activated, this,
          [this] { Q_EMIT settingChanged(QStringLiteral("Select the number of lines")); });
}

int RunBar::maxLines() const { return max_lines_->currentData().toInt(); }
void RunBar::setMaxLines(int count) { selectData(*max_lines_, count); }

bool RunBar::runsLive() const { return live_->isChecked(); }
void RunBar::setRunsLive(bool live) {
  const QSignalBlocker quiet(live_);
  live_->setChecked(live);
}

void RunBar::setRunnable(bool runnable) { run_->setEnabled(runnable); }

void RunBar::showProgress(const InterventionRun& run) {
  is_running_ = run.isRunning();
  run_->setText(is_running_ ? QStringLiteral("S&top") : QStringLiteral("R&un"));
  under_way_->setVisible(is_running_);
  step_->setText(run.stepText());
  progress_->setValue(static_cast<int>(progress_->maximum() * run.share()));
}

}  // namespace lime::explorer
