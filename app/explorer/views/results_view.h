// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "explorer/views/view.h"
#include "viz/figure_hit.h"
#include "viz/figure_source.h"
#include "viz/recipes/recipe.h"

class QComboBox;

namespace lime::explorer {

class FigureView;

/// Every figure that lime-figure draws, of the results that are open: results of one metric stand
/// in one figure.
class ResultsView : public View {
  Q_OBJECT

 public:
  ResultsView(const ViewContext& context, QWidget* parent);

  std::optional<Figure> figure() const override;
  QStringList commandLines() const override;
  Json state() const override;
  void setState(const Json& state) override;
  void zoom(double factor) override;
  void showAll() override;

 private:
  void listMetrics();
  void listFigures();
  void draw();
  std::vector<const Document*> chosen() const;
  void describe(const FigureHit& hit);

  QComboBox* metric_;
  QComboBox* kind_;
  FigureView* plot_;
};

ViewKind resultsViewKind();

}  // namespace lime::explorer
