// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/notice_bar.h"

#include <QAccessible>
#include <QAccessibleEvent>
#include <QHBoxLayout>
#include <QPalette>
#include <QPushButton>
#include <QToolButton>
#include <QWidget>
#include <utility>

#include "explorer/models/text.h"

namespace lime::explorer {
namespace {

/// Returns a text that lines can break after each slash: a long path would push the buttons out of
/// the window.
QString breakable(QString text) { return text.replace(u'/', u"/\u200b"_s); }

}  // namespace

NoticeBar::NoticeBar() : text_(new QLabel), remedy_(new QPushButton) {
  setFrameShape(QFrame::NoFrame);
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Midlight);
  text_->setWordWrap(true);
  text_->setMinimumWidth(120);
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
  document_.reset();
  whole_ = text;
  text_->setText(breakable(text));
  text_->setAccessibleName(text);
  remedy_->setText(remedy);
  remedy_->setVisible(!remedy.isEmpty());
  action_ = std::move(action);
  show();
  QAccessibleEvent event(text_, QAccessible::Alert);
  QAccessible::updateAccessibility(&event);
}

void NoticeBar::showDocument(int id, const QString& text) {
  showText(text);
  document_ = id;
}

}  // namespace lime::explorer
