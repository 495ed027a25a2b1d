// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/controls.h"

#include <QAccessible>
#include <QApplication>
#include <QHeaderView>
#include <QPainter>
#include <QPushButton>
#include <QSlider>
#include <QTimer>
#include <QToolButton>

#include "explorer/models/sentence_reader.h"

namespace lime::explorer {
namespace {

constexpr int kPadding = 4;
constexpr const char* kAwaited = "awaited";  // property of a box

/// The label of a control, disabled with it.
class BuddyLabel : public QLabel {
  using QLabel::QLabel;
  bool eventFilter(QObject* /*control*/, QEvent* event) override {
    if (event->type() == QEvent::EnabledChange) setEnabled(buddy()->isEnabled());
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

QHBoxLayout* makeBar(QWidget& bar) {
  auto* const row = new QHBoxLayout(&bar);
  row->setContentsMargins(12, 8, 38, 8);  // the button that explains the view is on the right
  row->setSpacing(8);
  return row;
}

QLabel* makeCaption(const QString& text) {
  auto* const label = new QLabel(text);
  label->setContentsMargins(12, 4, 12, 4);
  label->setMinimumWidth(40);
  return label;
}

void setActiveCaption(QLabel& caption, bool active) {
  QFont font = caption.font();
  font.setWeight(active ? QFont::DemiBold : QFont::Normal);
  caption.setFont(font);
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

void addLabelled(QHBoxLayout& bar, const QString& label, QWidget* widget) {
  auto* const text = new BuddyLabel(label);
  text->setBuddy(widget);
  widget->installEventFilter(text);
  text->setEnabled(widget->isEnabled());
  bar.addWidget(text);
  bar.addWidget(widget);
}

QComboBox* addChoiceBox(QHBoxLayout& bar, const QString& label, const QString& toolTip) {
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
  const QVariant wanted = box.count() > 0 ? box.currentData() : awaitedName(box);
  box.clear();
  for (const QString& name : names) {
    if (box.findData(name) < 0) box.addItem(shownText(name.toStdString()), name);
  }
  selectData(box, wanted);
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

PlayBar::PlayBar(const QString& name, const QString& toolTip)
    : play_(new QToolButton), slider_(new QSlider(Qt::Horizontal)), clock_(new QTimer(this)) {
  constexpr int kFrameMs = 350;
  play_->setText(u"Play"_s);
  play_->setCheckable(true);
  play_->setToolTip(toolTip);
  slider_->setMinimumWidth(70);
  slider_->setMaximumWidth(140);
  slider_->setAccessibleName(name);
  auto* const line = new QHBoxLayout(this);
  line->setContentsMargins(0, 0, 0, 0);
  line->addWidget(play_);
  line->addWidget(slider_);
  clock_->setInterval(kFrameMs);
  connect(play_, &QToolButton::toggled, clock_,
          [this](bool on) { on ? clock_->start() : clock_->stop(); });
  connect(clock_, &QTimer::timeout, this, [this] {
    const bool is_last = slider_->value() == slider_->maximum();
    step(is_last ? -slider_->maximum() : 1);
  });
  connect(slider_, &QSlider::valueChanged, this, &PlayBar::frameSelected);
  hide();
}

void PlayBar::setCount(int frames) {
  const QSignalBlocker quiet(slider_);
  slider_->setRange(0, std::max(0, frames - 1));
  setVisible(frames > 1);
  if (frames < 2) setPlaying(false);
}

int PlayBar::frame() const { return slider_->value(); }

void PlayBar::setFrame(int frame) {
  const QSignalBlocker quiet(slider_);
  slider_->setValue(frame);
}

bool PlayBar::isPlaying() const { return play_->isChecked(); }
void PlayBar::setPlaying(bool playing) { play_->setChecked(playing); }
void PlayBar::step(int steps) { slider_->setValue(slider_->value() + steps); }

NoticeBar::NoticeBar() : text_(new QLabel), remedy_(new QPushButton) {
  setFrameShape(QFrame::NoFrame);
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Midlight);
  text_->setWordWrap(true);
  text_->setTextFormat(Qt::PlainText);
  text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* const close = new QToolButton;
  close->setText(u"Dismiss"_s);
  close->setAutoRaise(true);
  connect(close, &QToolButton::clicked, this, &QWidget::hide);
  connect(remedy_, &QPushButton::clicked, this, [this] {
    hide();
    // The action may show the next line.
    if (const std::function<void()> action = action_) action();
  });
  auto* const line = new QHBoxLayout(this);
  line->setContentsMargins(12, 6, 12, 6);
  line->addWidget(text_, 1);
  line->addWidget(remedy_, 0, Qt::AlignTop);
  line->addWidget(close, 0, Qt::AlignTop);
  hide();
}

void NoticeBar::showText(const QString& text, const QString& remedy, std::function<void()> action) {
  text_->setText(text);
  remedy_->setText(remedy);
  remedy_->setVisible(!remedy.isEmpty());
  action_ = std::move(action);
  show();
  QAccessibleEvent event(text_, QAccessible::Alert);
  QAccessible::updateAccessibility(&event);
}

}  // namespace lime::explorer
