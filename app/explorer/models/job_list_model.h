// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractListModel>
#include <vector>

#include "explorer/models/job_runner.h"

namespace lime::explorer {

/// Lists the running and waiting jobs, oldest first.
class JobListModel : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Role {
    IdRole = Qt::UserRole,
    ShareRole,   ///< of the work that is done, 0 to 1; -1 where that is not known
    DetailRole,  ///< "layer 7, 12 s left"
  };

  explicit JobListModel(JobRunner& jobs, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;

 private:
  void add(JobId id);
  void change(JobId id);
  void remove(JobId id);
  int rowOf(JobId id) const;

  JobRunner& jobs_;
  std::vector<JobInfo> shown_;
};

}  // namespace lime::explorer
