// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QWidget>
#include <vector>

#include "explorer/router/router_subject.h"
#include "explorer/widgets/play_bar.h"

class QCheckBox;
class QComboBox;
class QSlider;

namespace lime::explorer {

class Workspace;

/// The bar above the router view: the checkpoint and the one to compare with, the values of the
/// heatmaps, and the animation through a series of checkpoints.
class RouterControls : public QWidget {
  Q_OBJECT

 public:
  RouterControls();

  /// Lists the open checkpoints; keeps the selected ones.
  void setCheckpoints(const Workspace& workspace);
  int checkpoint() const;  ///< id; 0: none
  int other() const;       ///< id; 0: none
  void setCheckpoint(int id);
  void setOther(int id);
  /// Disables what applies to stored router weights only, and says so.
  void setDisplayEnabled(bool enabled);

  /// Returns the settings without layer_base, which is a preference.
  RouterDisplay display() const;
  void setDisplay(const RouterDisplay& display);

  /// Sets the checkpoints of the animation in their order; fewer than two hide it.
  void setSeries(const std::vector<int>& ids);
  bool isPlaying() const;
  void setPlaying(bool playing);
  /// Selects the checkpoint `steps` further in the series.
  void step(int steps);

 Q_SIGNALS:
  void checkpointSelected();
  void otherSelected();
  /// The user changed the display; `what` names the change.
  void displayChanged(const QString& what);

 private:
  QComboBox* checkpoint_;
  QComboBox* other_;
  QComboBox* sign_;
  QCheckBox* normalised_;
  QCheckBox* sorted_;
  QSlider* threshold_;
  PlayBar* animation_;
  std::vector<int> series_;
};

}  // namespace lime::explorer
