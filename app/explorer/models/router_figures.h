// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/router_exploration.h"
#include "explorer/models/selection.h"
#include "viz/figure.h"

namespace lime::explorer {

/// What of routers the pictures show, and how.
struct RouterLook {
  bool is_signed = false;
  bool is_normalised = true;
  bool is_sorted = false;  ///< buffered layers and heads by their strength, the strongest first
  double threshold = 0.0;  ///< part of the largest magnitude below which cells are left out, [0, 1]
  int layer_base = 0;      ///< number of the first layer in what people read

  RouterQuantity quantity() const;
};

/// Routers, or what they have more than others of the same shape.
struct RouterSubject {
  const RouterExploration* routers = nullptr;
  const RouterExploration* minus = nullptr;
};

/// A map with what its rows and columns stand for: layers or heads.
struct RouterMap {
  Figure figure;
  std::vector<int> rows;  ///< of each row of the map, the lowest first
  std::vector<int> cols;
  MatrixD values;  ///< with the cells that the threshold leaves out

  int rowOf(int number) const;  ///< -1 if it has none
  int colOf(int number) const;
  /// What the row stands for at `y` on the map's axes; nothing beyond its ends.
  std::optional<int> rowNumberAt(double y) const;
  std::optional<int> colNumberAt(double x) const;
};

/// Which buffered layers each layer reads (figure 5 of the LIMe paper). The first layer, which has
/// nothing to choose from, is left out.
/// @param largest  magnitude at the end of the colours; unset: of the map's.
RouterMap layerMap(const RouterSubject& subject, const RouterLook& look,
                   std::optional<double> largest = {});
/// The same of values with signs, as router_layer_values() gives them.
RouterMap signedLayerMap(const MatrixD& values, const RouterLook& look, double largest);
/// The same for each target head of a layer (figure 9).
RouterMap headMap(const RouterSubject& subject, int layer, const RouterLook& look);
/// The weights of the target heads on the heads of one buffered layer, always with their signs.
RouterMap blockMap(const RouterSubject& subject, int layer, int source_layer,
                   const RouterLook& look);

/// A routed head and all buffered heads that feed it: at the left the diagram, at the right how
/// much passes each of them through earlier layers.
struct RouterFlowPicture {
  Figure figure;
  /// Of each point of the first panel's last curve: buffered layer and head.
  std::vector<std::pair<int, int>> nodes;
};
RouterFlowPicture flowPicture(const RouterExploration& routers, int layer, int head,
                              const RouterLook& look);

/// What the mouse is over, in one line.
QString describeLayerCell(const RouterSubject& subject, const RouterLook& look, int layer,
                          int source_layer);
QString describeHeadCell(const RouterSubject& subject, const RouterLook& look, int layer, int head,
                         int source_layer);
QString describeWeight(const RouterSubject& subject, const RouterLook& look, int layer, int head,
                       int source_layer, int source_head);

/// The largest magnitude that is finite; 0 without any.
double largestMagnitude(const MatrixD& values);
/// A weight or a share with four decimals.
QString weightText(double value);

/// `selection` with every part within the routers' shape and set: the last layer, its first head,
/// the buffered layer that it reads most.
Selection completed(const Selection& selection, const RouterExploration& routers);

}  // namespace lime::explorer
