// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QSortFilterProxyModel>
#include <QWidget>
#include <memory>

#include "explorer/models/job_runner.h"
#include "explorer/text/sentences_model.h"

class QLineEdit;
class QTableView;

namespace lime::explorer {

/// Lists the sequences of a capture; the user searches and selects them.
class SequenceList : public QWidget {
  Q_OBJECT

 public:
  explicit SequenceList(JobRunner& jobs);

  /// Lists the sequences; a job reads their texts.
  void setCapture(const std::shared_ptr<const CaptureReader>& capture);
  int size() const { return model_.rowCount(); }
  /// Makes a sequence current without sequenceSelected().
  void setCurrent(int sequence);
  void focusSearch();

 Q_SIGNALS:
  void sequenceSelected(int sequence);

 private:
  JobRunner& jobs_;
  SentencesModel model_;
  QSortFilterProxyModel filter_;
  bool is_filtering_ = false;
  int current_ = 0;
  QLineEdit* search_;
  QTableView* table_;
};

}  // namespace lime::explorer
