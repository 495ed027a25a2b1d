// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QModelIndex>
#include <QStandardItem>
#include <QStandardItemModel>

#include "explorer/models/workspace.h"

namespace lime::explorer {

/// Lists the open documents as a tree: the kinds in the order of DocumentKind, below each its
/// documents, below each document the lines of its outline.
class NavigatorModel : public QStandardItemModel {
  Q_OBJECT

 public:
  enum Role {
    IdRole = Qt::UserRole,  ///< of the document, also on lines of its outline; 0 on kinds
    PathRole,
    ColourRole,  ///< number of the class palette
  };

  explicit NavigatorModel(Workspace& workspace);

  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

  QModelIndex indexOfDocument(int id) const;

 Q_SIGNALS:
  /// The user renamed a document.
  void renamed(int id, const QString& before, const QString& after);

 private:
  void add(int id);
  void change(int id);
  void remove(int id);
  void countDocuments(QStandardItem& kind);

  Workspace& workspace_;
};

}  // namespace lime::explorer
