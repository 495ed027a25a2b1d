// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "explorer/models/collapse_measurements.h"
#include "explorer/models/extremes_model.h"
#include "explorer/models/figure_or_message.h"
#include "explorer/views/view.h"
#include "viz/figure_hit.h"

class QComboBox;
class QLabel;
class QTableView;

namespace lime::explorer {

class FigureView;

/// Entropy and geometry of all open captures over the layers; of the layer that is clicked the
/// spectrum and the sequences at the extremes, with their text.
class CollapseView : public View {
  Q_OBJECT

 public:
  CollapseView(const ViewContext& context, QWidget* parent);

  /// The curves and, where a layer is selected, its spectrum.
  std::optional<Figure> figure() const override;
  QStringList commandLines() const override;
  Json state() const override;
  void setState(const Json& state) override;
  void zoom(double factor) override;
  void showAll() override;

 protected:
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  QWidget* makeBar();
  QWidget* makeDetail();
  bool showsEntropy() const;
  CollapseMeasurements::Kind kind() const;
  void documentsChanged();
  void listSites();
  void measure();
  void layerChanged();
  void drawCurves();
  void drawSpectrum();
  void listExtremes();
  void listProblems();
  void markLayer();
  void walkLayers(int step);
  void selectLayer(int layer);
  void selectSequence();
  /// Makes the row of `extreme_` the current one, where there is one.
  void showExtreme();
  QString emptyMessage() const;
  FigureOrMessage curves() const;
  std::optional<FigurePanel> spectrumPanel() const;
  QString describe(const FigureHit& hit) const;

  CollapseMeasurements measurements_;
  QComboBox* site_;
  QComboBox* measure_;
  QComboBox* sequences_;
  QLabel* problems_;
  FigureView* plot_;
  FigureView* spectrum_;
  QLabel* layer_title_;
  QTableView* table_;
  ExtremesModel extremes_;
  /// The sequence at an extreme whose spectrum is drawn, too.
  struct Extreme {
    int document = 0;
    bool is_lowest = true;
    std::int64_t sequence = 0;
  };
  std::optional<Extreme> extreme_;
  std::optional<Figure> drawn_;
};

ViewKind collapseViewKind();

}  // namespace lime::explorer
