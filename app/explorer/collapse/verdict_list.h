// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QCheckBox>
#include <QPlainTextEdit>
#include <QString>
#include <QWidget>
#include <optional>
#include <vector>

#include "explorer/collapse/collapse_measurements.h"
#include "explorer/models/table_model.h"
#include "explorer/widgets/controls.h"

class QLabel;
class QTableView;

namespace lime::explorer {

/// A range of layers of a capture and its verdict.
struct VerdictRow {
  int document = 0;
  QString label = {};  ///< of the capture
  int first = 0;       ///< layer
  int last = 0;
  QString layers = {};  ///< as shown: "2 to 28"
  QString verdict = {};
  QString evidence = {};

  bool operator==(const VerdictRow&) const = default;
};

class VerdictModel : public TableModel<VerdictRow> {
 public:
  enum Column { kCapture, kLayers, kVerdict, kColumns };

  VerdictModel();
};

/// Lists the verdicts of lime-metrics collapse on the ranges of layers of all captures. Beside them
/// are the evidence of the selected one, and what the measurement cannot decide.
class VerdictList : public QWidget {
  Q_OBJECT

 public:
  VerdictList(const CollapseMeasurements& measurements, const Workspace& workspace);

  bool againstRandom() const { return against_random_->isChecked(); }
  void setAgainstRandom(bool on) { against_random_->setChecked(on); }

  /// Shows what is known. The row of `layer`, or without a selected layer that of the cliff, of the
  /// capture `document` becomes current.
  void draw(int document, std::optional<int> layer, std::optional<int> cliff, int layer_base);

 Q_SIGNALS:
  void rangeSelected(int document, int first_layer);
  void againstRandomChanged();

 private:
  std::vector<VerdictRow> rows(int layer_base) const;
  void showCurrent(int document, std::optional<int> layer);
  /// Returns the text beside the table. @param evidence  empty: no row is current
  QString explanation(const QString& evidence) const;

  const CollapseMeasurements& measurements_;
  const Workspace& workspace_;
  VerdictModel model_;
  bool is_selected_ = false;  ///< the user has selected the current layer
  QLabel* caption_;
  QTableView* table_;
  QCheckBox* against_random_;
  QPlainTextEdit* evidence_;
};

}  // namespace lime::explorer
