// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <optional>
#include <string>

#include "analysis/router/checkpoint_routers.h"
#include "explorer/models/selection.h"

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
  /// Returns the quantity that keeps the sign.
  RouterQuantity signedQuantity() const;
};

/// Routers, or their difference from others of the same shape.
struct RouterSubject {
  const CheckpointRouters* routers = nullptr;
  const CheckpointRouters* minus = nullptr;
  std::string name = "router";
  std::string other_name = "other checkpoint";
};

/// Describes a cell in one line. @param head  unset: the mean over the heads of the layer
QString describeSource(const RouterSubject& subject, const RouterDisplay& display, int layer,
                       std::optional<int> head, int source_layer);
QString describeWeight(const RouterSubject& subject, const RouterDisplay& display, int layer,
                       int head, int source_layer, int source_head);

/// Returns a weight or a fraction with four decimals.
QString weightText(double value);

/// Returns `selection` with every part set and within the shape of the routers. The defaults are
/// the last layer, its first head, and the buffered layer with the largest weight.
Selection completed(const Selection& selection, const CheckpointRouters& routers);

}  // namespace lime::explorer
