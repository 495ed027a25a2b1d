// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <vector>

#include "explorer/models/job_list_model.h"

class QLabel;
class QProgressBar;
class QVBoxLayout;

namespace lime::explorer {

/// Lists the jobs, each with its progress, the time left and a button to cancel it. Hidden while
/// there are none.
class JobPanel : public QWidget {
  Q_OBJECT

 public:
  explicit JobPanel(JobRunner& jobs, QWidget* parent = nullptr);

 private:
  struct Line {
    QWidget* widget = nullptr;
    QLabel* detail = nullptr;
    QProgressBar* bar = nullptr;
  };

  void insert(int row);
  void remove(int row);
  void update(int row);

  JobRunner& jobs_;
  JobListModel model_;
  QVBoxLayout* column_;
  std::vector<Line> lines_;
};

}  // namespace lime::explorer
