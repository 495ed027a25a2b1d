// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QWidget>
#include <vector>

class QAbstractItemModel;
class QEvent;
class QObject;
class QTableView;

namespace lime::explorer {

/// The table of the edits of a checkpoint, in a frame. Changes nothing itself.
class EditList : public QWidget {
  Q_OBJECT

 public:
  /// @param edits  a ScaledEdits, which must outlive this
  EditList(QAbstractItemModel& edits, const QString& accessible_name);

 Q_SIGNALS:
  /// The user pressed Delete with these rows selected.
  void removalRequested(const std::vector<int>& rows);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QTableView* table_;
};

}  // namespace lime::explorer
