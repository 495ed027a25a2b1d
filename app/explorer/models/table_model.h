// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <QModelIndex>
#include <QString>
#include <QVariant>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "explorer/models/text.h"

namespace lime::explorer {

/// A column of a TableModel.
template <typename Row> struct TableColumn {
  QString title;
  std::function<QVariant(const Row&)> text;  ///< the value that is displayed
  bool is_number = false;                    ///< aligned to the right
  QString help{};                            ///< tool tip of the title
  std::function<QVariant(const Row&)> tool_tip{};
  /// Returns values of other roles. GCC 12 crashes on "= {}" here.
  std::function<QVariant(const Row&, int role)> further{};
};

/// A table of structs, a row each. Subclasses name the columns.
template <typename Row> class TableModel : public QAbstractTableModel {
 public:
  using Column = TableColumn<Row>;

  explicit TableModel(std::vector<Column> columns = {}) : columns_(std::move(columns)) {}

  void setRows(std::vector<Row> rows) {
    beginResetModel();
    rows_ = std::move(rows);
    endResetModel();
  }
  /// Replaces the contents of all rows, as many as before.
  void updateRows(std::vector<Row> rows) {
    rows_ = std::move(rows);
    if (!rows_.empty()) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
  }
  const std::vector<Row>& rows() const { return rows_; }
  const Row& at(int row) const { return rows_[static_cast<std::size_t>(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
  }
  int columnCount(const QModelIndex& parent = {}) const override {
    return parent.isValid() ? 0 : static_cast<int>(columns_.size());
  }
  QVariant data(const QModelIndex& index, int role) const override {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Column& column = columns_[static_cast<std::size_t>(index.column())];
    if (column.further) {
      if (const QVariant value = column.further(at(index.row()), role); value.isValid()) {
        return value;
      }
    }
    if (role == Qt::DisplayRole) return column.text(at(index.row()));
    if (role == Qt::ToolTipRole && column.tool_tip) return column.tool_tip(at(index.row()));
    if (role == Qt::TextAlignmentRole) {
      return static_cast<int>((column.is_number ? Qt::AlignRight : Qt::AlignLeft) |
                              Qt::AlignVCenter);
    }
    return {};
  }
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
    const Column& column = columns_[static_cast<std::size_t>(section)];
    if (role == Qt::DisplayRole) return column.title;
    return role == Qt::ToolTipRole && !column.help.isEmpty() ? QVariant(column.help) : QVariant();
  }

 protected:
  /// Replaces columns and rows.
  void setTable(std::vector<Column> columns, std::vector<Row> rows) {
    beginResetModel();
    columns_ = std::move(columns);
    rows_ = std::move(rows);
    endResetModel();
  }

 private:
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace lime::explorer
