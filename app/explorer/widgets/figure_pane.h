// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLabel>
#include <QObject>
#include <QString>
#include <QWidget>
#include <optional>
#include <vector>

#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_view.h"
#include "viz/figure.h"
#include "viz/figure_style.h"

class QEvent;
class QVBoxLayout;

namespace lime::explorer {

class JobRunner;

/// Shows a figure below its caption.
class FigurePane : public QWidget {
  Q_OBJECT

 public:
  explicit FigurePane(const QString& accessibleName);

  FigureView& plot() { return *plot_; }
  const FigureView& plot() const { return *plot_; }
  /// Shows `figure` below its caption, or without one `message`. @param help  tool tip of the
  /// caption
  void show(std::optional<Figure> figure, const QString& message, const QString& caption = {},
            const QString& help = {});
  void setCaption(const QString& text, const QString& help = {});
  QString caption() const { return caption_->text(); }
  /// Shows the progress of jobs above the figure. @param key_prefix  of their keys
  void followJobs(JobRunner& jobs, const QString& key_prefix);
  void setActive(bool active) { setActiveCaption(*caption_, active); }

 Q_SIGNALS:
  /// The user clicked the figure, or gave it the focus.
  void activated();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QVBoxLayout* column_;
  QLabel* caption_;
  FigureView* plot_;
};

/// Groups the figures of a view. The one that was used last is active: it is exported and zoomed.
class PaneGroup : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  /// Adds a pane; the first one becomes active.
  void add(FigurePane& pane);
  FigurePane* active() const { return active_; }
  void activate(FigurePane* pane);  ///< null: none

  std::optional<Figure> figure() const;
  void setStyle(const FigureStyle& style);
  void zoom(double factor);  ///< the active pane
  void showAll();            ///< in every pane

 Q_SIGNALS:
  void activated();
  void status(const QString& text);
  void legendClicked(const QString& label);

 private:
  std::vector<FigurePane*> panes_;
  FigurePane* active_ = nullptr;
};

}  // namespace lime::explorer
