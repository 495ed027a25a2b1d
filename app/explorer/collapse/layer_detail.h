// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <optional>

#include "explorer/collapse/collapse_figures.h"
#include "explorer/collapse/extremes_model.h"
#include "viz/figure_style.h"

class QLabel;
class QTableView;

namespace lime::explorer {

class FigureView;

/// Shows one layer in detail: its spectrum, and the sequences of lowest and highest entropy.
class LayerDetail : public QWidget {
  Q_OBJECT

 public:
  LayerDetail(const CollapseMeasurements& measurements, const Workspace& workspace,
              QWidget* parent = nullptr);

  /// Draws what is known, and makes the row of `extreme` current.
  void draw(const std::optional<Extreme>& extreme, const FigureStyle& style, int layer_base);
  FigureView& spectrum() { return *spectrum_; }

 Q_SIGNALS:
  void sequenceSelected(const lime::explorer::Extreme& extreme);
  void status(const QString& text);

 private:
  void listSequences();
  void showCurrent(const std::optional<Extreme>& extreme);
  QString emptyMessage() const;

  const CollapseMeasurements& measurements_;
  const Workspace& workspace_;
  QLabel* title_;
  FigureView* spectrum_;
  ExtremesModel extremes_;
  QTableView* table_;
};

}  // namespace lime::explorer
