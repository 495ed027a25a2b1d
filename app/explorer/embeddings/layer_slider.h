// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <cstddef>
#include <vector>

class QLabel;
class QPropertyAnimation;
class QSlider;
class QToolButton;

namespace lime::explorer {

/// Slider over layers that can stop between two layers and can animate.
class LayerSlider : public QWidget {
  Q_OBJECT

 public:
  LayerSlider();

  /// @param layer_base  number of the first layer in the label
  void setLayers(std::vector<int> layers, int layer_base);
  /// Replaces the layers; the current one stays, if it is among them.
  void updateLayers(const std::vector<int>& layers);
  const std::vector<int>& layers() const { return layers_; }
  /// Returns the nearest layer; 0 without layers.
  int current() const;
  /// Returns the layer `step` layers beyond `layer`, within the ends. There must be layers.
  int neighbour(int layer, int step) const;

  /// A position between two layers.
  struct Position {
    std::size_t before = 0;  ///< into layers()
    std::size_t after = 0;
    float fraction = 0.0F;  ///< of the way from `before` to `after`
  };
  Position position() const;

  /// @return false  if there is no such layer
  bool moveTo(int layer);  ///< takes half a second
  bool jumpTo(int layer);  ///< without signals
  /// Moves from the first layer to the last, or stops.
  void play();
  bool isPlaying() const;

 Q_SIGNALS:
  void moved();
  /// The user selected a layer, with the slider at it.
  void layerSelected(int layer);
  /// The user dropped the slider near a layer.
  void released(int layer);
  void playRequested();

 private:
  int placeOf(int layer) const;  ///< -1: none
  void animate(int from, int to, int num_layers);

  std::vector<int> layers_;
  int layer_base_ = 0;
  QToolButton* play_;
  QLabel* label_;
  QSlider* slider_;
  QPropertyAnimation* animation_;
  bool is_playing_ = false;
};

}  // namespace lime::explorer
