// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/figure_pane.h"

#include <QEvent>
#include <QLabel>
#include <QVBoxLayout>
#include <utility>

#include "explorer/widgets/job_line.h"

namespace lime::explorer {

FigurePane::FigurePane(const QString& accessibleName)
    : column_(fillWithColumn(*this)), caption_(new QLabel), plot_(new FigureView) {
  setObjectName(accessibleName);
  plot_->setAccessibleName(accessibleName);
  plot_->installEventFilter(this);
  caption_->setContentsMargins(12, 6, 12, 2);
  caption_->setTextFormat(Qt::PlainText);
  caption_->setMinimumWidth(40);
  QFont font = caption_->font();
  font.setWeight(QFont::DemiBold);
  caption_->setFont(font);
  caption_->setWordWrap(true);
  column_->addWidget(caption_);
  column_->addWidget(plot_, 1);
  setActive(false);
  caption_->hide();
}

void FigurePane::show(std::optional<Figure> figure, const QString& message, const QString& caption,
                      const QString& help) {
  setCaption(figure ? caption : QString(), help);
  plot_->setMessage(message);
  plot_->setFigure(std::move(figure));
}

void FigurePane::followJobs(JobRunner& jobs, const QString& key_prefix) {
  column_->insertWidget(1, new JobLine(jobs, key_prefix));
}

void FigurePane::setCaption(const QString& text, const QString& help) {
  caption_->setText(text);
  caption_->setVisible(!text.isEmpty());
  caption_->setToolTip(help);
}

bool FigurePane::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::MouseButtonPress || event->type() == QEvent::FocusIn) {
    Q_EMIT activated();
  }
  return QWidget::eventFilter(watched, event);
}

void PaneGroup::add(FigurePane& pane) {
  panes_.push_back(&pane);
  connect(&pane, &FigurePane::activated, this, [this, &pane] { activate(&pane); });
  connect(&pane.plot(), &FigureView::status, this, &PaneGroup::status);
  connect(&pane.plot(), &FigureView::legendClicked, this, &PaneGroup::legendClicked);
  if (panes_.size() == 1) activate(&pane);
}

void PaneGroup::activate(FigurePane* pane) {
  active_ = pane;
  for (FigurePane* const each : panes_) each->setActive(each == pane);
  Q_EMIT activated();
}

std::optional<Figure> PaneGroup::figure() const {
  const Figure* const shown = active_ == nullptr ? nullptr : active_->plot().figure();
  return shown == nullptr ? std::nullopt : std::optional(*shown);
}

void PaneGroup::setStyle(const FigureStyle& style) {
  for (FigurePane* const pane : panes_) pane->plot().setFigureStyle(style);
}

void PaneGroup::zoom(double factor) {
  if (active_ != nullptr) active_->plot().zoom(factor);
}

void PaneGroup::showAll() {
  for (FigurePane* const pane : panes_) pane->plot().showAll();
}

}  // namespace lime::explorer
