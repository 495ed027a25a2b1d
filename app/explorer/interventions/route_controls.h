// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStringList>
#include <QWidget>

#include "explorer/interventions/intervention_edits.h"

class QComboBox;
class QDoubleSpinBox;
class QPushButton;
class QSlider;

namespace lime::explorer {

/// The controls below the heatmaps: the routes that are edited, and their scale.
class RouteControls : public QWidget {
  Q_OBJECT

 public:
  explicit RouteControls(QWidget* parent = nullptr);

  RouteScope scope() const;
  QString scopeText() const;
  void setScope(RouteScope scope);  ///< without scopeSelected()
  /// Selects the next scope, or the previous one, as the user does.
  void stepScope(bool forwards);
  /// Names the routes of each scope after a selection.
  void listScopes(const Selection& selection, int layer_base);
  void setScale(double scale);

 Q_SIGNALS:
  void scopeSelected();
  void scaleRequested(double scale);

 private:
  QComboBox* scope_;
  QSlider* slider_;
  QDoubleSpinBox* scale_;
  QPushButton* off_;
  QPushButton* restore_;
};

}  // namespace lime::explorer
