// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "explorer/models/router_figures.h"
#include "explorer/models/router_library.h"
#include "explorer/views/view.h"
#include "viz/figure_hit.h"

class QTabBar;

namespace lime::explorer {

class FigurePane;
class RouterControls;

/// Which buffered layers and heads the routers of a checkpoint read: the mean map, the map of the
/// chosen layer's heads, the weights between two layers, and the flow into the chosen head. What is
/// chosen is the workspace's selection.
class RouterView : public View {
  Q_OBJECT

 public:
  RouterView(const ViewContext& context, QWidget* parent);

  /// The figure of the pane that was used last.
  std::optional<Figure> figure() const override;
  QStringList commandLines() const override;
  std::vector<Habit> habits() const override;
  Json state() const override;
  void setState(const Json& state) override;
  std::vector<std::string> furtherNames() const override {
    return {"layer", "head", "source_layer", "source_head"};
  }
  void zoom(double factor) override;
  void showAll() override;

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void layOut();
  void connectAll();
  void listCheckpoints();
  void draw();
  void drawMaps(const RouterSubject& subject, const RouterLook& look);
  void drawDetail(const RouterSubject& subject, const RouterLook& look);
  void drawNothing();
  void mark();
  void activate(FigurePane* pane);
  void select(const Selection& selection, const QString& text);
  void chooseCell(FigurePane* pane, const FigureHit& hit);
  void describe(FigurePane* pane, const FigureHit& hit);
  void walk(int layers, int heads, int sources);
  void chooseNode(const FigureHit& hit);
  void describeFlow(const RouterSubject& subject, const FigureHit& hit);
  void showCheckpoint(int id);
  void setCheckpoints(const Json& state);
  bool showsFlow() const;
  const RouterMap& mapOf(const FigurePane* pane) const;
  RouterLook look() const;
  /// Nothing where the chosen checkpoint has no routers to show.
  std::optional<RouterSubject> subject() const;
  /// The selection as far as it fits the routers.
  Selection chosen() const;
  QString emptyMessage() const;
  std::optional<double> largestOfSeries() const;

  RouterLibrary library_;
  RouterControls* controls_;
  FigurePane* layers_;
  FigurePane* heads_;
  FigurePane* detail_;
  QTabBar* detail_kind_;
  FigurePane* active_;
  RouterMap layer_map_;
  RouterMap head_map_;
  RouterMap block_map_;
  RouterFlowPicture flow_;
  bool is_setting_ = false;  ///< state, in which many signals come at once
};

ViewKind routerViewKind();

}  // namespace lime::explorer
