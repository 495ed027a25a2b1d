// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QModelIndex>
#include <QStyleOptionViewItem>
#include <QStyledItemDelegate>

class QPainter;

namespace lime::explorer {

/// Draws a cell with the roles of SentenceRole in one line, its token bold and centred.
class SentenceDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  using QStyledItemDelegate::QStyledItemDelegate;
  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
};

}  // namespace lime::explorer
