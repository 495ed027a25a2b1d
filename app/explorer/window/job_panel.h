// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <map>

#include "explorer/models/job_runner.h"

class QProgressBar;

class QLabel;
class QVBoxLayout;

namespace lime::explorer {

/// Lists the jobs, oldest first, each with its progress, the time left and a button to cancel it.
/// Hidden while there are none.
class JobPanel : public QWidget {
  Q_OBJECT

 public:
  explicit JobPanel(JobRunner& jobs);

 private:
  struct Line {
    QWidget* widget = nullptr;
    QLabel* detail = nullptr;
    QProgressBar* bar = nullptr;
  };

  void add(JobId id);
  void update(JobId id);
  void remove(JobId id);
  /// Shows the oldest jobs: more would make the window higher than the screen.
  void showFirst();

  JobRunner& jobs_;
  QVBoxLayout* column_;
  std::map<JobId, Line> lines_;
};

}  // namespace lime::explorer
