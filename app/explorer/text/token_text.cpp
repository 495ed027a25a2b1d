// SPDX-License-Identifier: Apache-2.0
#include "explorer/text/token_text.h"

#include <QPainter>
#include <QStyledItemDelegate>

#include "explorer/widgets/theme.h"

namespace lime::explorer {
namespace {

constexpr int kEdge = 10;                   // around the text, pixels
constexpr int kBeside = 2;                  // of a token's text
constexpr int kLineGap = 2;                 // above and below a token
constexpr double kCorner = 6.0;             // side of the mark of a clipped value
constexpr int kClippedRole = Qt::UserRole;  // whether a value is beyond the colour scale

/// Draws a token on its colour, with a frame if it is current or under the pointer.
class TokenDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const int wide = option.fontMetrics.horizontalAdvance(index.data().toString()) + 2 * kBeside;
    const auto& view = static_cast<const QListView&>(*option.widget);
    return {std::min(wide, std::max(view.viewport()->width() - 2 * view.spacing(), 40)),
            option.fontMetrics.height() + 4 + 2 * kLineGap};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    constexpr double kRound = 2.5;
    const QRect place = option.rect.adjusted(0, kLineGap, 0, -kLineGap);
    const auto ground = index.data(Qt::BackgroundRole).value<QColor>();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if (ground.isValid()) {
      painter->setPen(Qt::NoPen);
      painter->setBrush(ground);
      painter->drawRoundedRect(place, kRound, kRound);
    }
    if (index.data(kClippedRole).toBool()) {
      const QPointF corner = QRectF(place).topRight();
      painter->setPen(Qt::NoPen);
      painter->setBrush(inkOn(ground));
      painter->drawPolygon(
          QPolygonF{corner, corner - QPointF(kCorner, 0.0), corner + QPointF(0.0, kCorner)});
    }
    // Text on a translucent ground has the colour of text without one.
    const bool is_opaque = ground.isValid() && ground.alpha() == 255;
    painter->setPen(is_opaque ? inkOn(ground) : option.palette.color(QPalette::Text));
    painter->drawText(
        place.adjusted(kBeside, 0, -kBeside, 0), Qt::AlignVCenter | Qt::AlignLeft,
        option.fontMetrics.elidedText(index.data().toString(), Qt::ElideRight, place.width()));
    const bool is_current = option.state.testFlag(QStyle::State_Selected);
    if (is_current || option.state.testFlag(QStyle::State_MouseOver)) {
      const auto role = is_current ? QPalette::Text : QPalette::PlaceholderText;
      painter->setPen(QPen(option.palette.color(role), is_current ? 2 : 1));
      painter->setBrush(Qt::NoBrush);
      painter->drawRoundedRect(QRectF(place).adjusted(0.5, 0.5, -0.5, -0.5), kRound, kRound);
    }
    painter->restore();
  }
};

}  // namespace

TokenText::TokenText(const QString& accessible_name)
    : model_({{.title = u"Token"_s,
               .text = [](const TextToken& token) { return token.text; },
               .further = [](const TextToken& token, int role) -> QVariant {
                 if (role == Qt::BackgroundRole) return token.ground;
                 if (role == kClippedRole) return token.is_clipped;
                 const bool describes =
                     role == Qt::ToolTipRole || role == Qt::AccessibleDescriptionRole;
                 return describes ? QVariant(token.description) : QVariant();
               }}}) {
  setAccessibleName(accessible_name);
  setModel(&model_);
  setItemDelegate(new TokenDelegate(this));
  setFlow(QListView::LeftToRight);
  setWrapping(true);
  setResizeMode(QListView::Adjust);
  setSpacing(1);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setBackgroundRole(QPalette::Base);
  setAutoFillBackground(true);
  setViewportMargins(kEdge, kEdge / 3, kEdge, kEdge / 3);
  setMouseTracking(true);
  viewport()->setAttribute(Qt::WA_Hover);
  connect(this, &QListView::entered, this,
          [this](const QModelIndex& index) { Q_EMIT hovered(index.row()); });
  connect(this, &QListView::viewportEntered, this, [this] { Q_EMIT hovered(-1); });
}

void TokenText::setTokens(std::vector<TextToken> tokens) {
  if (std::ranges::equal(tokens, model_.rows(), {}, &TextToken::text, &TextToken::text)) {
    model_.updateRows(std::move(tokens));
  } else {
    model_.setRows(std::move(tokens));
  }
}

void TokenText::setCurrent(int token) {
  if (token == current()) return;
  const QSignalBlocker quiet(selectionModel());
  setCurrentIndex(model_.index(token, 0));
  if (token >= 0) scrollTo(currentIndex());
  viewport()->update();
}

void TokenText::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QListView::currentChanged(current, previous);
  if (current.isValid()) Q_EMIT selected(current.row());
}

void TokenText::focusInEvent(QFocusEvent* event) {
  // The base class makes the first token the current one, which nobody selected.
  const int before = current();
  const QSignalBlocker quiet(selectionModel());
  QListView::focusInEvent(event);
  setCurrentIndex(model_.index(before, 0));
}

void TokenText::leaveEvent(QEvent* event) {
  QListView::leaveEvent(event);
  Q_EMIT hovered(-1);
}

}  // namespace lime::explorer
