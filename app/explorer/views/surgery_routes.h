// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "explorer/models/preferences.h"
#include "explorer/models/surgery_edits.h"
#include "explorer/models/surgery_figures.h"
#include "viz/figure_hit.h"
#include "viz/figure_style.h"

class QComboBox;
class QDoubleSpinBox;
class QPushButton;
class QSlider;
class QTableView;

namespace lime::explorer {

class FigurePane;

/// The left side of route surgery: the edited routers as maps, which of their routes are chosen,
/// what is done to them, and the list of edits. Changes nothing itself: it says what is wanted.
class SurgeryRoutes : public QWidget {
  Q_OBJECT

 public:
  explicit SurgeryRoutes(SurgeryEdits& edits, QWidget* parent = nullptr);

  /// Draws. @param routers    null: shows `message` instead; must stay until the next call.
  ///         @param selection  whole: layer, head, source and its head are set.
  void setRouters(const EditedRouters* routers, const Selection& selection, const QString& message);
  void setPreferences(const Preferences& preferences);

  RouteScope scope() const;
  void setScope(RouteScope scope);
  /// The routes that are chosen, with the scale that their edit has.
  RouterEdit chosen() const;

  FigurePane& layers() { return *layers_; }
  FigurePane& weights() { return *weights_; }

 Q_SIGNALS:
  void selectionWanted(const lime::explorer::Selection& selection);
  /// Somebody chose other routes around the selection.
  void scopeChosen();
  /// These routes are to have this scale; 1 takes their edit away.
  void scaleWanted(const lime::RouterEdit& edit);
  void status(const QString& text);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void layOut();
  QWidget* makeControls();
  QWidget* makeList();
  void draw();
  void mark();
  void listScopes();
  void showScale();
  void want(double scale);
  void clickLayers(const FigureHit& hit);
  void clickWeights(const FigureHit& hit);
  void describe(const FigurePane* pane, const FigureHit& hit);
  void walk(int rows, int cols);
  void select(const Selection& selection, std::initializer_list<RouteScope> fitting);
  bool hasKey(QKeyEvent& event);
  void removeChosenEdits();

  SurgeryEdits& edits_;
  Preferences preferences_;
  /// What a map is laid out for: while that stays, edits only change its cells.
  struct Layout {
    const EditedRouters* routers = nullptr;
    int layer = 0;  ///< whose weights they are; 0 for the map of layers
    int layer_base = 0;
    FigureTheme theme = FigureTheme::kLight;
    double font_size = 0.0;

    bool operator==(const Layout&) const = default;
  };
  void show(FigurePane& pane, RouterMap& map, Layout& drawn, const Layout& wanted);

  const EditedRouters* routers_ = nullptr;
  Layout layers_layout_;
  Layout weights_layout_;
  Selection selection_;
  RouterMap layer_map_;
  RouterMap weight_map_;
  FigurePane* layers_;
  FigurePane* weights_;
  QComboBox* scope_ = nullptr;
  QSlider* slider_ = nullptr;
  QDoubleSpinBox* scale_ = nullptr;
  QPushButton* off_ = nullptr;
  QPushButton* trained_ = nullptr;
  QTableView* list_ = nullptr;
};

}  // namespace lime::explorer
