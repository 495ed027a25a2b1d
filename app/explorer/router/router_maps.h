// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "explorer/router/router_subject.h"
#include "viz/figure.h"
#include "viz/figure_hit.h"

namespace lime::explorer {

/// A heatmap, and the layers or heads of its rows and columns.
struct RouterMap {
  Figure figure;
  std::vector<int> rows;  ///< of each row of the map, the lowest first
  std::vector<int> cols;
  MatrixD values;  ///< with the cells that the threshold leaves out

  int rowOf(int number) const { return placeOf(rows, number); }  ///< -1 if it has none
  int colOf(int number) const { return placeOf(cols, number); }
  /// Returns the layers or heads of the row and the column that are hit; no value outside the
  /// cells.
  std::optional<std::pair<int, int>> cellAt(const FigureHit& hit) const;

 private:
  static int placeOf(const std::vector<int>& numbers, int number);
};

/// Draws the weights of each layer on the buffered layers (figure 5 of the LIMe paper), without the
/// first layer, which can only read itself.
/// @param largest  magnitude at the end of the colours; unset: of the map's.
RouterMap layerMap(const RouterSubject& subject, const RouterDisplay& display,
                   std::optional<double> largest = {});
/// Draws signed values [target, source] as they are. @param of_layers  as layerMap()
RouterMap signedMap(const MatrixD& values, bool of_layers, int layer_base, double largest);
/// Draws the weights of each target head of a layer (figure 9).
RouterMap headMap(const RouterSubject& subject, int layer, const RouterDisplay& display);
/// The maps of all heads, a panel per layer that can read another one.
struct RouterOverview {
  Figure figure;
  std::vector<RouterMap> maps;  ///< of each panel, with the values of headMap()
  int first_layer = 0;          ///< of the first panel
};
RouterOverview headOverview(const RouterSubject& subject, const RouterDisplay& display);
/// Draws the signed weights of the target heads on the heads of one buffered layer.
RouterMap blockMap(const RouterSubject& subject, int layer, int source_layer,
                   const RouterDisplay& display);

/// Returns the largest finite magnitude; 0 without any.
double largestMagnitude(const MatrixD& values);

}  // namespace lime::explorer
