// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <optional>
#include <vector>

#include "viz/figure.h"
#include "viz/figure_style.h"

namespace lime::explorer {

class FigurePane;

/// Groups the figures of a view. The one that was used last is active: it is exported and zoomed.
class PaneGroup : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  /// Adds a pane; the first one becomes active.
  void add(FigurePane& pane);
  FigurePane* active() const { return active_; }
  void activate(FigurePane* pane);  ///< null: none

  /// Returns the figure of the active pane.
  std::optional<Figure> figure() const;
  void setStyle(const FigureStyle& style);
  void zoom(double factor);  ///< the active pane
  void showAll();            ///< in every pane

 Q_SIGNALS:
  void activated();
  void status(const QString& text);

 private:
  std::vector<FigurePane*> panes_;
  FigurePane* active_ = nullptr;
};

}  // namespace lime::explorer
