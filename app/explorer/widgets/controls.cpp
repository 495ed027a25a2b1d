// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/controls.h"

#include <QAccessible>
#include <QApplication>
#include <QEvent>
#include <QHeaderView>

namespace lime::explorer {
namespace {

constexpr const char* kAwaited = "awaited";  // property of a box

/// The label of a control, disabled and hidden with it.
class BuddyLabel : public QLabel {
  using QLabel::QLabel;
  bool eventFilter(QObject* /*control*/, QEvent* event) override {
    if (event->type() == QEvent::EnabledChange) setEnabled(buddy()->isEnabled());
    if (event->type() == QEvent::ShowToParent) setVisible(true);
    if (event->type() == QEvent::HideToParent) setVisible(false);
    return false;
  }
};

}  // namespace

QVBoxLayout* fillWithColumn(QWidget& page) {
  auto* const column = new QVBoxLayout(&page);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  return column;
}

BarLayout* makeBar(QWidget& bar) {
  auto* const row = new BarLayout(bar);
  row->setContentsMargins(12, 8, 38, 8);  // the button that explains the view is on the right
  row->setSpacing(8);
  return row;
}

QLabel* makeCaption(const QString& text) {
  auto* const label = new QLabel(text);
  label->setContentsMargins(12, 4, 12, 4);
  label->setMinimumWidth(40);
  QFont font = label->font();
  font.setWeight(QFont::DemiBold);
  label->setFont(font);
  return label;
}

void setActiveCaption(QLabel& caption, bool active) {
  caption.setForegroundRole(active ? QPalette::WindowText : QPalette::PlaceholderText);
}

void setNote(QLabel& note, const QStringList& lines) {
  note.setText(lines.join(u'\n'));
  note.setVisible(!lines.isEmpty());
}

QTabBar* makeTabs(const QStringList& titles, const QString& accessible_name) {
  auto* const tabs = new QTabBar;
  for (const QString& title : titles) tabs->addTab(title);
  tabs->setDrawBase(false);
  tabs->setExpanding(false);
  tabs->setAccessibleName(accessible_name);
  return tabs;
}

QLineEdit* makeSearch(const QString& what, const QString& tool_tip) {
  auto* const search = new QLineEdit;
  search->setPlaceholderText(what);
  search->setAccessibleName(what);
  search->setToolTip(tool_tip);
  search->setClearButtonEnabled(true);
  return search;
}

QLabel* makeNote(const QString& name) {
  auto* const label = new QLabel;
  label->setWordWrap(true);
  label->setContentsMargins(12, 0, 12, 6);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  label->setAccessibleName(name);
  label->hide();
  return label;
}

QSplitter* makeSplitter(Qt::Orientation orientation, const QList<QWidget*>& panes,
                        const QList<int>& sizes) {
  auto* const splitter = new QSplitter(orientation);
  splitter->setChildrenCollapsible(false);
  splitter->setHandleWidth(1);
  for (QWidget* const pane : panes) splitter->addWidget(pane);
  splitter->setSizes(sizes);
  return splitter;
}

QTableView* makeTable(QAbstractItemModel& model, const QString& accessible_name) {
  constexpr int kRowMargins = 6;
  auto* const table = new QTableView;
  table->setModel(&model);
  table->setAccessibleName(accessible_name);
  table->setSelectionBehavior(QAbstractItemView::SelectRows);
  table->setSelectionMode(QAbstractItemView::SingleSelection);
  table->setFrameShape(QFrame::NoFrame);
  table->setShowGrid(false);
  table->setWordWrap(false);
  table->setTabKeyNavigation(false);
  table->horizontalHeader()->setStretchLastSection(true);
  table->verticalHeader()->hide();
  table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + kRowMargins);
  return table;
}

void setCurrentQuietly(QTableView& table, const QModelIndex& index) {
  const QSignalBlocker quiet(table.selectionModel());
  table.setCurrentIndex(index);
  table.viewport()->update();
}

void addLabelled(QLayout& bar, const QString& label, QWidget* widget) {
  auto* const text = new BuddyLabel(label);
  text->setBuddy(widget);
  widget->installEventFilter(text);
  text->setEnabled(widget->isEnabled());
  bar.addWidget(text);
  bar.addWidget(widget);
}

QComboBox* addChoiceBox(QLayout& bar, const QString& label, const QString& toolTip) {
  auto* const box = new QComboBox;
  box->setToolTip(toolTip);
  box->setAccessibleName(QString(label).remove(u'&'));
  box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  box->setMinimumWidth(kLeastBoxWidth);
  addLabelled(bar, label, box);
  return box;
}

void addChoice(QComboBox& box, const QString& text, const QVariant& data, const QString& toolTip) {
  box.addItem(text, data);
  box.setItemData(box.count() - 1, toolTip, Qt::ToolTipRole);
}

void setNames(QComboBox& box, const QStringList& names) {
  const QSignalBlocker quiet(&box);
  const QVariant requested = box.count() > 0 ? box.currentData() : awaitedName(box);
  box.clear();
  for (const QString& name : names) {
    if (box.findData(name) < 0) box.addItem(shownText(name.toStdString()), name);
  }
  selectData(box, requested);
}

void awaitName(QComboBox& box, const QString& name) { box.setProperty(kAwaited, name); }

QString awaitedName(const QComboBox& box) {
  return box.count() > 0 ? QString() : box.property(kAwaited).toString();
}

std::string selectedName(const QComboBox& box) {
  return box.currentData().toString().toStdString();
}

void selectData(QComboBox& box, const QVariant& data) {
  const int at = box.findData(data);
  if (at >= 0) box.setCurrentIndex(at);
}

}  // namespace lime::explorer
