// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <vector>

#include "explorer/models/router_figures.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QSlider;
class QTimer;
class QToolButton;

namespace lime::explorer {

class Workspace;

/// The bar above the router view: which checkpoint, compared with which, what of the weights, and
/// the film through a series of checkpoints.
class RouterControls : public QWidget {
  Q_OBJECT

 public:
  explicit RouterControls(QWidget* parent = nullptr);

  /// Lists checkpoints; keeps what is chosen where it is still there.
  void setCheckpoints(const Workspace& workspace);
  int checkpoint() const;  ///< id; 0: none
  int other() const;       ///< id; 0: none
  void setCheckpoint(int id);
  void setOther(int id);

  /// Without layer_base, which is a preference.
  RouterLook look() const;
  void setLook(const RouterLook& look);

  /// Ids in the order of the film; fewer than two hide it.
  void setSeries(const std::vector<int>& ids);
  bool isPlaying() const;
  void setPlaying(bool playing);
  /// The checkpoint `steps` further in the series.
  void stepFilm(int steps);

 Q_SIGNALS:
  void checkpointChosen();
  void otherChosen();
  /// A person changed the look; `what` names the change.
  void lookChosen(const QString& what);

 private:
  QWidget* makeFilm();

  QComboBox* checkpoint_;
  QComboBox* other_;
  QComboBox* sign_;
  QCheckBox* normalised_;
  QCheckBox* sorted_;
  QSlider* threshold_;
  QWidget* film_;
  QSlider* frame_ = nullptr;
  QToolButton* play_ = nullptr;
  QTimer* clock_;
  std::vector<int> series_;
};

}  // namespace lime::explorer
