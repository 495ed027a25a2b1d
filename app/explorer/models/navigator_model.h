// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractItemModel>
#include <vector>

#include "explorer/models/workspace.h"

namespace lime::explorer {

/// Lists the open documents as a tree: checkpoints, captures, results; below each document its
/// outline.
///
/// Level 0 has the kinds, in the order of DocumentKind; level 1 the documents of a kind; level 2
/// the lines of the outline of a document.
class NavigatorModel : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Role {
    IdRole = Qt::UserRole,  ///< of the document, also on lines of its outline; 0 on kinds
    KindRole,               ///< int of DocumentKind
    PathRole,
    StateRole,   ///< int of DocumentState
    ColourRole,  ///< number of the class palette
  };

  explicit NavigatorModel(Workspace& workspace, QObject* parent = nullptr);

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;

  QModelIndex indexOfDocument(int id) const;

 Q_SIGNALS:
  /// The user renamed a document.
  void renamed(int id, const QString& before, const QString& after);

 private:
  std::vector<int>& idsOf(DocumentKind kind);
  const std::vector<int>& idsOf(DocumentKind kind) const;
  const Document* documentAt(const QModelIndex& index) const;
  QVariant kindData(DocumentKind kind, int role) const;
  QVariant documentData(const Document& document, int role) const;
  static QVariant factData(const Fact& fact, int role);
  void add(int id);
  void remove(int id);
  void change(int id);

  Workspace& workspace_;
  std::vector<int> ids_[3];  ///< of each kind, in the order of opening
  /// Number of outline lines of each document.
  QHash<int, int> facts_;
};

}  // namespace lime::explorer
