// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "explorer/interventions/part_edits.h"
#include "explorer/models/preferences.h"
#include "explorer/widgets/figure_pane.h"
#include "store/results_file.h"

class QComboBox;
class QDoubleSpinBox;
class QKeyEvent;
class QPushButton;

namespace lime::explorer {

class EditList;

/// The left side of the Interventions view for every decoder: a map of its attention, MLPs and
/// heads, the selected part with its scale, and the list of edits. Emits what the user requests,
/// and changes nothing itself.
class InterventionParts : public QWidget {
  Q_OBJECT

 public:
  /// The decoder, and what sweeps have measured of it; they may be null.
  struct Subject {
    int num_layers = 0;  ///< 0: none
    int num_heads = 0;
    std::shared_ptr<const Results> sublayers = {};
    std::shared_ptr<const Results> heads = {};
  };

  explicit InterventionParts(PartEdits& edits);

  void show(const Subject& subject, const QString& message, const Preferences& preferences);
  const PartEdit& selected() const { return selected_; }
  /// Frames this part.
  void select(const PartEdit& part);
  FigurePane& map() { return *map_; }

 Q_SIGNALS:
  void selectionRequested(const lime::explorer::PartEdit& part);
  /// @param edit  a part that is scaled or patched; one that changes nothing removes its edit
  void editRequested(const lime::explorer::PartEdit& edit);
  void status(const QString& text);

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QWidget* makeControls();
  void draw();
  void showSelected();
  void requestScale(double scale);
  void requestPatch();
  void request(const PartEdit& edit);
  void removeEdits(const std::vector<int>& rows);
  void walk(int layers, int columns);
  QString describe(const PartEdit& part) const;
  std::optional<PartEdit> partAtHit(const FigureHit& hit) const;

  PartEdits& edits_;
  Subject subject_;
  PartEdit selected_;
  int layer_base_ = 0;
  FigurePane* map_;
  QComboBox* part_;
  QDoubleSpinBox* scale_;
  QPushButton* skip_;
  QPushButton* patch_;
  QPushButton* restore_;
  EditList* list_;
};

}  // namespace lime::explorer
