// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "explorer/collapse/collapse_measurements.h"
#include "explorer/collapse/verdict_list.h"
#include "explorer/models/document.h"
#include "explorer/models/table_model.h"
#include "explorer/widgets/controls.h"
#include "explorer/widgets/figure_pane.h"
#include "explorer/widgets/play_bar.h"
#include "explorer/widgets/view.h"

class QComboBox;
class QLabel;
class QTableView;

namespace lime::explorer {

/// A sequence at one end of a layer's entropies.
struct ExtremeSequence {
  Extreme place = {};
  QString label;         ///< of the capture
  double entropy = 0.0;  ///< nats
  double ceiling = 0.0;
  QString text;

  bool operator==(const ExtremeSequence&) const = default;
};

/// Lists the sequences of lowest and highest entropy of a layer, of several captures.
class ExtremesModel : public TableModel<ExtremeSequence> {
 public:
  enum Column { kModel, kEnd, kEntropy, kOfMaximum, kSequence, kText, kColumns };

  ExtremesModel();
};

/// Shows one layer in detail: its spectrum, and the sequences of lowest and highest entropy.
class LayerDetail : public QWidget {
  Q_OBJECT

 public:
  LayerDetail(const CollapseMeasurements& measurements, const Workspace& workspace);

  /// Draws what is known, and makes the row of `extreme` current.
  void draw(const std::optional<Extreme>& extreme, int layer_base);
  FigurePane& spectrum() { return *spectrum_; }

 Q_SIGNALS:
  void sequenceSelected(const lime::explorer::Extreme& extreme);
  void viewRequested(const QString& id);

 private:
  void listSequences();
  void showCurrent(const std::optional<Extreme>& extreme);
  QString emptyMessage() const;

  const CollapseMeasurements& measurements_;
  const Workspace& workspace_;
  QLabel* title_;
  FigurePane* spectrum_;
  ExtremesModel extremes_;
  QTableView* table_;
};

/// Shows why representations look collapsed, entropy and geometry of all open captures over the
/// layers, and the selected layer in detail.
class CollapseView : public View {
  Q_OBJECT

 public:
  explicit CollapseView(const ViewContext& context);

  QString obstacle(const Document& document) const override;
  QStringList commandLines() const override;

 protected:
  void shown() override { measure(); }
  void restored() override { measure(); }
  void paletteChanged() override { draw(); }

 private:
  QWidget* makeControls();
  void addSettings();
  std::string site() const { return selectedName(*site_); }
  std::string measureName() const { return selectedName(*measure_); }
  CollapseMeasurements::Kind kind() const { return kindOf(measureName()); }
  bool compares() const { return selectedName(*show_) == "differences"; }
  void onDocumentsChanged();
  void measure();
  void draw();
  void drawCurves();
  void drawDetail();
  /// Returns why captures are not drawn, a line each.
  QString obstacles() const;
  void drawVerdicts();
  /// Returns the capture whose verdicts are marked in the plot; null if there is none.
  const Document* markedCapture() const;
  /// Marks its ranges and the cliff. @return a caption that names the cliff and, if there are
  /// several captures, the marked one
  QString markVerdicts(Figure& figure);
  /// Returns the training steps in the names of the shown captures, if there are several.
  std::vector<std::int64_t> steps() const;
  std::set<int> layers() const;
  void selectSequence(const Extreme& extreme);
  void selectRange(int document, int first_layer);
  QStringList verdictCommand() const;

  CollapseMeasurements measurements_;
  QComboBox* site_;
  QComboBox* measure_;
  QComboBox* show_;
  QComboBox* sequences_;
  PlayBar* animation_;  ///< frame 0: all steps
  QLabel* problems_;
  VerdictList* verdicts_;
  std::optional<int> cliff_;  ///< layer of the marked capture
  FigurePane* curves_;
  LayerDetail* detail_;
  std::optional<Extreme> extreme_;  ///< the sequence whose spectrum is drawn
  QStringList colours_;             ///< options of lime-figure
  int marked_ = 0;                  ///< document of markedCapture(); others: the first one
};

}  // namespace lime::explorer
