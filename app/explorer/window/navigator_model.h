// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QModelIndex>
#include <QStandardItem>
#include <QStandardItemModel>
#include <QString>
#include <QVariant>
#include <functional>

#include "explorer/models/document.h"
#include "explorer/models/workspace.h"

namespace lime::explorer {

/// Lists the open documents as a tree: the kinds, below each its documents, below each document the
/// lines of its outline.
class NavigatorModel : public QStandardItemModel {
  Q_OBJECT

 public:
  enum Role {
    IdRole = Qt::UserRole,  ///< of the document, also on lines of its outline; 0 on kinds
    PathRole,
    ColourRole,    ///< number of the class palette
    ObstacleRole,  ///< why the current view leaves out the document; empty if it does not
    KindRole,      ///< DocumentKind, on kinds only
  };

  explicit NavigatorModel(Workspace& workspace);

  QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

  QModelIndex indexOfDocument(int id) const;
  /// Sets why the current view leaves out documents; the reason is added to their tool tips.
  void setObstacles(const std::function<QString(const Document&)>& obstacleOf);

 Q_SIGNALS:
  /// The user renamed a document.
  void renamed(int id, const QString& before, const QString& after);

 private:
  QStandardItem& itemOf(DocumentKind kind) const;
  void add(int id);
  void change(int id);
  void remove(int id);
  void countDocuments(QStandardItem& kind);

  Workspace& workspace_;
};

}  // namespace lime::explorer
