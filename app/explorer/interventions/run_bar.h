// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QCheckBox;
class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;

namespace lime::explorer {

class InterventionRun;

/// The controls of a run: the number of lines, start and stop, and the progress.
class RunBar : public QWidget {
  Q_OBJECT

 public:
  explicit RunBar(QWidget* parent = nullptr);

  int maxLines() const;  ///< 0: all
  void setMaxLines(int count);
  bool runsLive() const;
  void setRunsLive(bool live);
  void setRunnable(bool runnable);
  void showProgress(const InterventionRun& run);

 Q_SIGNALS:
  void runRequested();
  void stopRequested();
  void fileRequested();
  /// A control changed; `what` names it for undo.
  void settingChanged(const QString& what);

 private:
  bool is_running_ = false;
  QPushButton* run_;
  QComboBox* max_lines_;
  QCheckBox* live_;
  QWidget* under_way_;  ///< visible during a run
  QLabel* step_;
  QProgressBar* progress_;
};

}  // namespace lime::explorer
