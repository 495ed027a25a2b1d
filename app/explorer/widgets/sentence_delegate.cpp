// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/sentence_delegate.h"

#include <QApplication>
#include <QColor>
#include <QFont>
#include <QFontMetrics>
#include <QPainter>
#include <QPalette>
#include <QRect>
#include <QStyle>
#include <algorithm>

#include "explorer/models/token_in_sentence.h"

namespace lime::explorer {
namespace {

constexpr int kPadding = 4;

}  // namespace

void SentenceDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                             const QModelIndex& index) const {
  QStyleOptionViewItem cell = option;
  initStyleOption(&cell, index);
  auto [before, token, after] = index.data(kSentenceRole).value<TokenInSentence>();
  if (token.isEmpty()) {
    QStyledItemDelegate::paint(painter, option, index);
    return;
  }
  cell.text.clear();
  const QStyle* const style = cell.widget != nullptr ? cell.widget->style() : QApplication::style();
  style->drawControl(QStyle::CE_ItemViewItem, &cell, painter, cell.widget);
  const bool is_selected = (cell.state & QStyle::State_Selected) != 0;
  const QRect area = cell.rect.adjusted(kPadding, 0, -kPadding, 0);
  QFont bold = cell.font;
  bold.setBold(true);
  const QFontMetrics plain_metrics(cell.font);
  const QFontMetrics bold_metrics(bold);
  const int middle = bold_metrics.horizontalAdvance(token);
  const int left =
      std::max(0, std::min(plain_metrics.horizontalAdvance(before), (area.width() - middle) / 2));
  before = plain_metrics.elidedText(before, Qt::ElideLeft, left);
  const int start = plain_metrics.horizontalAdvance(before);
  after = plain_metrics.elidedText(after, Qt::ElideRight, area.width() - start - middle);
  painter->save();
  painter->setClipRect(cell.rect);
  const QColor ink =
      cell.palette.color(is_selected ? QPalette::HighlightedText : QPalette::PlaceholderText);
  painter->setFont(cell.font);
  painter->setPen(ink);
  painter->drawText(area, Qt::AlignVCenter | Qt::AlignLeft | Qt::TextSingleLine, before);
  painter->drawText(area.adjusted(start + middle, 0, 0, 0),
                    Qt::AlignVCenter | Qt::AlignLeft | Qt::TextSingleLine, after);
  painter->setFont(bold);
  painter->setPen(cell.palette.color(is_selected ? QPalette::HighlightedText : QPalette::Text));
  painter->drawText(area.adjusted(start, 0, 0, 0),
                    Qt::AlignVCenter | Qt::AlignLeft | Qt::TextSingleLine, token);
  painter->restore();
}

}  // namespace lime::explorer
