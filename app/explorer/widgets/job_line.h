// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QProgressBar>
#include <QString>

#include "explorer/models/job_runner.h"

namespace lime::explorer {

/// A thin bar where a result will appear: the progress of its jobs, those whose keys begin with
/// some text. Empty, but of the same height, while there are none.
class JobLine : public QProgressBar {
  Q_OBJECT

 public:
  JobLine(JobRunner& jobs, QString key_prefix);

 private:
  void showProgress();

  JobRunner& jobs_;
  QString key_prefix_;
};

}  // namespace lime::explorer
