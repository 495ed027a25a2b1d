// SPDX-License-Identifier: Apache-2.0
#include "explorer/widgets/pane_group.h"

#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/figure_view.h"

namespace lime::explorer {

void PaneGroup::add(FigurePane& pane) {
  panes_.push_back(&pane);
  connect(&pane, &FigurePane::activated, this, [this, &pane] { activate(&pane); });
  connect(&pane.plot(), &FigureView::status, this, &PaneGroup::status);
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
