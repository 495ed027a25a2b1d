// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/navigator_delegate.h"

#include <QPainter>

#include "explorer/models/navigator_model.h"
#include "explorer/widgets/theme.h"

namespace lime::explorer {
namespace {

constexpr int kDot = 10;
constexpr int kIcon = 14;

QPixmap dot(const QColor& colour, double ratio) {
  QPixmap pixmap(QSize(kIcon, kIcon) * ratio);
  pixmap.setDevicePixelRatio(ratio);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(colour);
  const double margin = 0.5 * (kIcon - kDot);
  painter.drawEllipse(QRectF(margin, margin, kDot, kDot));
  return pixmap;
}

}  // namespace

void NavigatorDelegate::initStyleOption(QStyleOptionViewItem* option,
                                        const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  const bool is_kind = index.data(NavigatorModel::IdRole).toInt() == 0;
  const bool is_document = index.data(NavigatorModel::PathRole).isValid();
  if (is_document) {
    const QColor colour =
        documentColour(index.data(NavigatorModel::ColourRole).toInt(), option->palette);
    option->features |= QStyleOptionViewItem::HasDecoration;
    // Also where the line is selected, when styles would tint it.
    const QPixmap pixmap = dot(colour, option->widget->devicePixelRatioF());
    option->icon = QIcon();
    for (const auto mode : {QIcon::Normal, QIcon::Selected}) option->icon.addPixmap(pixmap, mode);
    option->decorationSize = QSize(kIcon, kIcon);
  } else {
    option->palette.setColor(QPalette::Text, mutedText(option->palette));
    if (!is_kind) option->font.setPointSizeF(0.92 * option->font.pointSizeF());
  }
}

}  // namespace lime::explorer
