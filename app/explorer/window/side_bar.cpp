// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/side_bar.h"

#include <QBoxLayout>
#include <QEvent>
#include <QFont>
#include <QListWidget>
#include <QPainter>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTreeView>

#include "explorer/widgets/controls.h"
#include "explorer/widgets/theme.h"
#include "explorer/window/job_panel.h"
#include "explorer/window/view_kinds.h"

namespace lime::explorer {
namespace {

constexpr int kWidth = 190;  // for names such as "agreement-probes"

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

QLabel* caption(const QString& text) {
  auto* const label = new QLabel(text);
  QFont font = label->font();
  font.setPointSizeF(0.88 * font.pointSizeF());
  font.setWeight(QFont::DemiBold);
  label->setFont(font);
  label->setForegroundRole(QPalette::PlaceholderText);
  label->setContentsMargins(12, 10, 12, 4);
  return label;
}

/// A list or tree whose lines are aligned with the captions.
template <typename List> class Indented : public List {
 public:
  explicit Indented(int left) { this->setViewportMargins(left, 0, 6, 0); }
};

/// The list of views. Letters are shortcuts of the views, not the beginning of their names.
class ViewList : public Indented<QListWidget> {
 public:
  using Indented::Indented;
  void keyboardSearch(const QString&) override {}
};

/// Draws the lines of the navigator: documents with the dot of their colour, outlines in small
/// type.
class NavigatorDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
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
      // An unticked box would be as dark as the list.
      if (isDark(option->palette)) {
        option->palette.setColor(QPalette::Base, option->palette.color(QPalette::Mid));
      }
      if (!index.data(NavigatorModel::ObstacleRole).toString().isEmpty()) {
        option->palette.setColor(QPalette::Text, mutedText(option->palette));
      }
    } else {
      option->palette.setColor(QPalette::Text, mutedText(option->palette));
      if (!is_kind) option->font.setPointSizeF(0.92 * option->font.pointSizeF());
    }
  }
};

}  // namespace

SideBar::SideBar(Workspace& workspace, JobRunner& jobs)
    : workspace_(workspace),
      navigator_(workspace),
      views_(new ViewList(9)),
      tree_(new Indented<QTreeView>(2)) {
  setFixedWidth(kWidth);
  addViews();
  addDocuments();
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(caption(u"VIEWS"_s));
  column->addWidget(views_);
  column->addWidget(caption(u"OPEN"_s));
  column->addWidget(tree_, 1);
  column->addWidget(new JobPanel(jobs));
}

void SideBar::addViews() {
  views_->setFrameShape(QFrame::NoFrame);
  views_->setAccessibleName(u"views"_s);
  views_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  const int height = fontMetrics().height() + 12;
  int number = 0;
  for (const ViewKind& kind : allViews()) {
    auto* const item = new QListWidgetItem(kind.title, views_);
    item->setToolTip(u"%1 (Ctrl+%2)"_s.arg(kind.question).arg(++number));
    item->setSizeHint(QSize(0, height));
  }
  views_->setFixedHeight(number * height + 4);
  views_->setCurrentRow(0);
  connect(views_, &QListWidget::currentRowChanged, this, &SideBar::viewSelected);
}

void SideBar::addDocuments() {
  tree_->setIndentation(11);
  tree_->setTextElideMode(Qt::ElideMiddle);  // names differ at their ends
  tree_->setFrameShape(QFrame::NoFrame);
  tree_->setModel(&navigator_);
  tree_->setItemDelegate(new NavigatorDelegate(tree_));
  tree_->setHeaderHidden(true);
  tree_->setAccessibleName(u"open checkpoints, captures and results"_s);
  tree_->setContextMenuPolicy(Qt::ActionsContextMenu);
  tree_->setEditTriggers(QAbstractItemView::EditKeyPressed);
  for (int kind = 0; kind < navigator_.rowCount(); ++kind) tree_->expand(navigator_.index(kind, 0));
  connect(tree_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& index) {
            const int id = index.data(NavigatorModel::IdRole).toInt();
            if (id != 0) workspace_.setCurrent(id);
          });
  connect(tree_, &QTreeView::activated, this, [this](const QModelIndex& index) {
    Q_EMIT documentActivated(index.data(NavigatorModel::IdRole).toInt());
  });
  connect(&workspace_, &Workspace::documentAdded, this,
          [this](int id) { tree_->expand(navigator_.indexOfDocument(id).parent()); });
  connect(&workspace_, &Workspace::currentChanged, this, [this](int id) {
    const QModelIndex index = navigator_.indexOfDocument(id);
    const int shown = tree_->currentIndex().data(NavigatorModel::IdRole).toInt();
    if (index.isValid() && shown != id) tree_->setCurrentIndex(index);
  });
}

void SideBar::setCurrentView(int index) {
  const QSignalBlocker quiet(views_);
  views_->setCurrentRow(index);
}

void SideBar::addDocumentActions(const QList<QAction*>& actions) { tree_->addActions(actions); }

void SideBar::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  views_->setPalette(sideBarPalette(palette()));
  tree_->setPalette(sideBarPalette(palette()));
}

}  // namespace lime::explorer
