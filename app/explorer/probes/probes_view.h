// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "explorer/models/document.h"
#include "explorer/probes/probe_measurements.h"
#include "explorer/probes/probe_question.h"
#include "explorer/probes/probe_source.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/view.h"

class QComboBox;
class QLabel;
class QWidget;

namespace lime::explorer {

class ConfusionPane;
class PredictionList;
class TaskTable;

/// Shows what linear probes decode from each layer: the class of a token, or which sentence of a
/// minimal pair is good. The selected layer has its confusion matrix and its predictions.
class ProbesView : public View {
  Q_OBJECT

 public:
  explicit ProbesView(const ViewContext& context);

  /// Returns the figure of the active pane, which may be the table of tasks.
  std::optional<Figure> figure() const override;
  QStringList commandLines() const override;
  QString obstacle(const Document& document) const override {
    const bool is_left_out = document.capture && !canProbe(*document.capture, question());
    return is_left_out
               ? u"the selected probe needs classes of tokens, or minimal pairs, and it has "
                 u"none"_s
               : QString();
  }
  std::vector<Shortcut> shortcuts() const override;

 protected:
  void shown() override;
  void restored() override;
  void paletteChanged() override { draw(); }

 private:
  QWidget* makeControls();
  void addSettings();
  void connectAll();
  void connectPanes();
  void addActions();
  ProbeQuestion question() const;
  std::string site() const { return selectedName(*site_); }
  const ProbeSource* source() const;
  std::optional<ProbeMeasurements::Place> wantedPlace() const;
  void onDocumentsChanged();
  void listSources();
  void measure();
  void showWanted();
  void draw();
  QStringList problems() const;
  void drawCurves();
  void drawTasks();
  void drawDetail();
  void markLayer();
  void selectCurve(const FigureHit& hit);
  void selectTask(const std::string& task, int layer);
  void selectCell(const std::pair<int, int>& cell);
  std::set<int> layers() const;

  ProbeMeasurements measurements_;
  std::vector<ProbeSource> sources_;
  std::string task_;  ///< of minimal pairs; empty: all
  QComboBox* question_;
  QComboBox* site_;
  QComboBox* model_;
  QComboBox* numbers_;
  QLabel* problems_;
  FigurePane* curves_;
  QStringList colours_;  ///< options of lime-figure
  TaskTable* tasks_;
  ConfusionPane* confusion_;
  PredictionList* predictions_;
};

}  // namespace lime::explorer
