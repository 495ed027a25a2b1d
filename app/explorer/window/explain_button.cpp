// SPDX-License-Identifier: Apache-2.0
#include "explorer/window/explain_button.h"

#include <QFrame>
#include <QKeySequence>
#include <QLabel>
#include <QVBoxLayout>

#include "explorer/models/text.h"
#include "explorer/window/invariance_notes.h"
#include "explorer/window/manual_page.h"
#include "explorer/window/view_kinds.h"

namespace lime::explorer {

ExplainButton::ExplainButton(QWidget& parent) : QToolButton(&parent) {
  hide();
  setText(u"?"_s);
  setAutoRaise(true);
  setShortcut(QKeySequence(Qt::Key_Question));  // Shift+F1 is the manual
  setToolTip(u"What this view shows, and what to keep in mind (%1)"_s.arg(
      shortcut().toString(QKeySequence::NativeText)));
  setAccessibleName(u"explain this view"_s);
  connect(this, &QToolButton::clicked, this, &ExplainButton::explain);
}

void ExplainButton::setView(const ViewKind* view) {
  view_ = view;
  setVisible(view != nullptr);
  place();
}

void ExplainButton::place() {
  resize(26, 26);
  move(parentWidget()->width() - width() - 6, 9);
  raise();
}

void ExplainButton::explain() {
  const Explanation& explanation = view_->explanation;
  const QString path = manualPage(explanation.page);
  const QString link = path.isEmpty() ? u"docs/%1"_s.arg(explanation.page)
                                      : u"<a href='#'>docs/%1</a>"_s.arg(explanation.page);
  QString invariance = invarianceHtml(explanation.measurements);
  if (!invariance.isEmpty()) {
    invariance.prepend(u"<p><b>Is it a property of the model?</b> (docs/invariance.md)</p>"_s);
  }
  auto* const popup = new QFrame(this, Qt::Popup);
  popup->setAttribute(Qt::WA_DeleteOnClose);
  popup->setFrameShape(QFrame::StyledPanel);
  auto* const label = new QLabel(u"<p>%1</p><p><i>%2</i></p><p>%3</p>%4<p>%5</p>"_s.arg(
      explanation.text, explanation.formula, explanation.caveat, invariance, link));
  label->setWordWrap(true);
  label->setFixedWidth(420);
  label->setAccessibleName(u"explanation"_s);
  label->setTextInteractionFlags(Qt::TextBrowserInteraction);
  connect(label, &QLabel::linkActivated, this, [this, popup, path, explanation] {
    popup->close();
    showPage(path, explanation.heading, window());
  });
  (new QVBoxLayout(popup))->addWidget(label);
  popup->adjustSize();
  popup->move(mapToGlobal(QPoint(width() - popup->width(), height())));
  popup->show();
  label->setFocus();
}

}  // namespace lime::explorer
