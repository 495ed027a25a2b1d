// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QUndoCommand>
#include <utility>

#include "explorer/models/workspace.h"

namespace lime::explorer {

/// Renames a document.
class RenameCommand : public QUndoCommand {
 public:
  RenameCommand(Workspace& workspace, int id, QString before, QString after)
      : QUndoCommand(u"Rename %1"_s.arg(before)),
        workspace_(workspace),
        id_(id),
        before_(std::move(before)),
        after_(std::move(after)) {}

  void undo() override { workspace_.rename(id_, before_); }
  /// Has no effect when it is pushed: the document has the name already.
  void redo() override { workspace_.rename(id_, after_); }

 private:
  Workspace& workspace_;
  int id_;
  QString before_;
  QString after_;
};

}  // namespace lime::explorer
