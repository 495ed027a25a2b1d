// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/figure_pane.h"

#include <QEvent>
#include <QLabel>
#include <QVBoxLayout>

#include "explorer/widgets/figure_view.h"
#include "explorer/widgets/pane_layout.h"

namespace lime::explorer {

FigurePane::FigurePane(const QString& accessibleName, QWidget* parent)
    : QWidget(parent), caption_(new QLabel), plot_(new FigureView) {
  setObjectName(accessibleName);
  plot_->setAccessibleName(accessibleName);
  plot_->installEventFilter(this);
  caption_->setContentsMargins(12, 6, 12, 2);
  caption_->setTextFormat(Qt::PlainText);
  caption_->setMinimumWidth(40);
  QVBoxLayout* const column = fillWithColumn(*this);
  column->addWidget(caption_);
  column->addWidget(plot_, 1);
  setActive(false);
  caption_->hide();
}

void FigurePane::show(std::optional<Figure> figure, const QString& message) {
  if (!figure) setCaption({});
  plot_->setMessage(message);
  plot_->setFigure(std::move(figure));
}

void FigurePane::setCaption(const QString& text, const QString& help) {
  caption_->setText(text);
  caption_->setVisible(!text.isEmpty());
  caption_->setToolTip(help);
}

QString FigurePane::caption() const { return caption_->text(); }

void FigurePane::setActive(bool active) {
  QFont font = caption_->font();
  font.setWeight(active ? QFont::DemiBold : QFont::Normal);
  caption_->setFont(font);
  caption_->setForegroundRole(active ? QPalette::WindowText : QPalette::PlaceholderText);
}

bool FigurePane::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::MouseButtonPress || event->type() == QEvent::FocusIn) {
    Q_EMIT activated();
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace lime::explorer
