// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "explorer/models/axis_window.h"
#include "viz/figure.h"
#include "viz/figure_hit.h"
#include "viz/figure_scene.h"

namespace lime::explorer {

class Workspace;

/// An axis of a panel that shows a quantity of the workspace: views with axes of one quantity zoom
/// together. A coordinate c means `origin + c`, or reversed for `origin - c`.
struct AxisLink {
  std::size_t panel = 0;
  Qt::Orientation axis = Qt::Horizontal;
  QString quantity;
  double origin = 0.0;
  bool is_reversed = false;
};

/// The visible range of each panel of a figure, and of the quantities that its axes are linked by.
struct FigureWindows {
  std::vector<std::optional<PanelRange>> panels;  ///< unset: all of it
  std::vector<std::pair<QString, std::optional<AxisWindow>>> linked;

  bool operator==(const FigureWindows&) const = default;
};

/// Keeps the visible range of each panel of a figure within its data, and in step with the linked
/// axes of other figures.
class PanelRanges : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  /// Clears all ranges if the number of panels changes.
  void setNumPanels(std::size_t count);
  /// Applies the ranges to a new scene, which must outlive its use here. @param scene  null: none
  void setScene(FigureScene* scene);
  void linkAxes(Workspace& workspace, std::vector<AxisLink> links);

  std::size_t size() const { return zoom_.size(); }
  bool hasAxes(std::size_t panel) const { return scene_->has_axes(panel); }
  PanelRange at(std::size_t panel) const { return zoom_[panel].value_or(all_[panel]); }
  void set(std::size_t panel, PanelRange range);
  void zoomAbout(const FigureHit& hit, const PanelRange& range, double factor,
                 Qt::KeyboardModifiers modifiers = {});
  void showAll();
  bool isZoomed() const;

  FigureWindows windows() const;
  /// Restores what windows() returned. Where the figure has other panels since, only the linked
  /// quantities.
  void setWindows(const FigureWindows& windows);

 Q_SIGNALS:
  /// The scene has another range.
  void changed();

 private:
  void keepWithin(std::size_t panel);
  void apply(std::size_t panel);
  void notifyLinks(std::size_t panel);
  void onLinkChanged(const QString& quantity);

  FigureScene* scene_ = nullptr;
  Workspace* workspace_ = nullptr;
  std::vector<AxisLink> links_;
  std::optional<std::size_t> notifying_;         ///< panel whose window is being published
  std::vector<PanelRange> all_;                  ///< of each panel
  std::vector<std::optional<PanelRange>> zoom_;  ///< of each panel; unset: all
};

}  // namespace lime::explorer
