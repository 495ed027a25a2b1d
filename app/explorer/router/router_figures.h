// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/router/checkpoint_routers.h"
#include "explorer/models/selection.h"
#include "viz/figure.h"

namespace lime::explorer {

/// The values of routers that heatmaps show, and their layout.
struct RouterDisplay {
  bool is_signed = false;
  bool is_normalised = true;
  bool is_uniform = false;  ///< fractions relative to 1/n, those of a uniform router
  bool is_sorted = false;   ///< buffered layers and heads by their strength, the strongest first
  /// "keys" or "values": weights are multiplied by the root mean square of the buffered head.
  std::string weighting = {};
  double threshold = 0.0;  ///< part of the largest magnitude below which cells are left out, [0, 1]
  int layer_base = 0;      ///< number of the first layer in labels: 0 or 1

  RouterQuantity quantity() const;
};

/// Routers, or their difference from others of the same shape.
struct RouterSubject {
  const CheckpointRouters* routers = nullptr;
  const CheckpointRouters* minus = nullptr;
  std::string name = "router";
  std::string other_name = "other checkpoint";
};

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
  std::vector<RouterMap> maps;  ///< headMap() of each panel
  int first_layer = 0;          ///< of the first panel
};
RouterOverview headOverview(const RouterSubject& subject, const RouterDisplay& display);
/// Draws the signed weights of the target heads on the heads of one buffered layer.
RouterMap blockMap(const RouterSubject& subject, int layer, int source_layer,
                   const RouterDisplay& display);

/// Describes a cell in one line. @param head  unset: the mean over the heads of the layer
QString describeSource(const RouterSubject& subject, const RouterDisplay& display, int layer,
                       std::optional<int> head, int source_layer);
QString describeWeight(const RouterSubject& subject, const RouterDisplay& display, int layer,
                       int head, int source_layer, int source_head);

/// Returns the largest finite magnitude; 0 without any.
double largestMagnitude(const MatrixD& values);
/// Returns a weight or a fraction with four decimals.
QString weightText(double value);

/// Returns `selection` with every part set and within the shape of the routers. The defaults are
/// the last layer, its first head, and the buffered layer with the largest weight.
Selection completed(const Selection& selection, const CheckpointRouters& routers);

/// Returns the number of parts that part `row` reads, those that are not NaN in its row.
int numSources(const MatrixD& shares, Eigen::Index row);
/// Draws the shares of outputs that each part reads, [part, source]. @param is_depth  parts are
/// attention and MLP of each layer; else layers
Figure sourcesFigure(const MatrixD& shares, bool is_depth, int layer_base);

/// Draws the fraction of each layer's weight on the embeddings, buffered layer 0, and 1/n.
Figure embeddingsFigure(const RouterSubject& subject, const RouterDisplay& display);

/// A routed head and all buffered heads that feed it: on the left the diagram, on the right the
/// flow through each of them by way of earlier layers.
struct RouterFlowFigure {
  Figure figure;
  /// Buffered layer and head of each point of the last curve of the first panel.
  std::vector<std::pair<int, int>> nodes;
};

/// Draws the flow into a routed head.
RouterFlowFigure flowFigure(const CheckpointRouters& routers, int layer, int head,
                            const RouterDisplay& display);

}  // namespace lime::explorer
