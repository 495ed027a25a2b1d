// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <QWidget>
#include <optional>
#include <vector>

class QLayout;
class QLabel;
class QSlider;

namespace lime::explorer {

/// A slider over the layers of a site, with the number of the layer before it.
class LayerStepper : public QObject {
  Q_OBJECT

 public:
  /// Adds label and slider to `bar`.
  LayerStepper(QLayout& bar, const QString& toolTip);

  /// Offers these layers, ascending, and shows one of them, without layerSelected().
  void setLayers(const std::vector<int>& layers, std::optional<int> now, int layer_base);
  /// Selects the layer `count` further on, or the last one.
  void step(int count);

 Q_SIGNALS:
  void layerSelected(int layer);

 private:
  std::vector<int> layers_;
  QLabel* label_;
  QSlider* slider_;
};

}  // namespace lime::explorer
