// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <map>
#include <memory>

#include "explorer/models/job_runner.h"
#include "explorer/models/token_rows.h"

namespace lime::explorer {

class Workspace;
struct Document;

/// TokenRows of open captures: each made once, when it is first asked for, by a job. Lives on the
/// GUI thread.
class CaptureRows : public QObject {
  Q_OBJECT

 public:
  CaptureRows(Workspace& workspace, JobRunner& jobs, QObject* parent = nullptr);

  /// Null until ready() tells of it, and for good where the table cannot be read.
  const TokenRows* of(const Document& document);

 Q_SIGNALS:
  void ready(int document);

 private:
  struct Entry {
    std::shared_ptr<const CaptureReader> capture;  ///< another one after a reload
    std::shared_ptr<const TokenRows> rows;         ///< null while it is being made
  };

  Workspace& workspace_;
  JobRunner& jobs_;
  std::map<int, Entry> entries_;  ///< by document
};

}  // namespace lime::explorer
