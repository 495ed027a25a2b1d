// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>
#include <utility>

#include "explorer/interventions/intervention_run.h"

class QCheckBox;
class QProgressBar;
class QPushButton;

class QComboBox;
class QLabel;
class QLineEdit;

namespace lime::explorer {

/// The controls of a run: the number of lines, start and stop, and the progress.
class RunBar : public QWidget {
  Q_OBJECT

 public:
  RunBar();

  int maxLines() const;  ///< 0: all
  void setMaxLines(int count);
  /// Returns the options of lime-capture that select the tokens of the loss.
  QStringList score() const;
  std::pair<int, QString> scored() const;  ///< index of the choice, and its text
  void setScored(int choice, const QString& text);
  bool runsLive() const;
  void setRunsLive(bool live);
  void setRunnable(bool runnable);
  void showProgress(const InterventionRun& run);

 Q_SIGNALS:
  /// The user pressed Run, or Stop during a run.
  void runRequested();
  void fileRequested();
  /// A control changed; `what` names it for undo.
  void settingChanged(const QString& what);

 private:
  QPushButton* run_;
  QComboBox* max_lines_;
  QComboBox* scored_;
  QLineEdit* scored_text_;
  QCheckBox* live_;
  QWidget* under_way_;  ///< visible during a run
  QLabel* step_;
  QProgressBar* progress_;
};

}  // namespace lime::explorer
