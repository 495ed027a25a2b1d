// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "explorer/router/router_subject.h"
#include "viz/figure.h"

namespace lime::explorer {

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
