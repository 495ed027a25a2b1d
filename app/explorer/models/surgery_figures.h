// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/edited_routers.h"
#include "explorer/models/router_figures.h"

namespace lime::explorer {

/// The signed weights of each layer on each buffered layer, edited, mean over the heads that read
/// and summed over those that are read. Cells whose routes are all off are crossed out, others that
/// are edited have a mark. The colours are those of the trained weights, so that an edit moves
/// nothing else.
RouterMap editedLayerMap(const EditedRouters& routers, int layer_base);

/// Every weight of one layer's router, edited and marked likewise: rows are heads, columns the
/// heads of layer after layer. `cols` of the map are source_layer * heads + source_head.
RouterMap editedWeightMap(const EditedRouters& routers, int layer, int layer_base);

/// What the mouse is over, in one line: the weight, and what it was.
QString describeEditedLayer(const EditedRouters& routers, int layer_base, int layer,
                            int source_layer);
QString describeEditedWeight(const EditedRouters& routers, int layer_base, int layer, int head,
                             int source_layer, int source_head);

}  // namespace lime::explorer
