// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QWidget>

class QSlider;
class QTimer;
class QToolButton;

namespace lime::explorer {

/// Animates a series of frames: a button and a slider, hidden if there are fewer than two frames.
class PlayBar : public QWidget {
  Q_OBJECT

 public:
  /// @param name  of the slider, for assistive technology
  PlayBar(const QString& name, const QString& toolTip);

  void setCount(int frames);
  int frame() const;
  void setFrame(int frame);  ///< without frameSelected()
  bool isPlaying() const;
  void setPlaying(bool playing);
  /// Moves by `steps` frames, within the ends.
  void step(int steps);

 Q_SIGNALS:
  void frameSelected(int frame);

 private:
  QToolButton* play_;
  QSlider* slider_;
  QTimer* clock_;
};

}  // namespace lime::explorer
