// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/router_edit.h"
#include "metrics/router/router_maps.h"

namespace lime {

/// Routers with every route scaled as the edits say: those that the edited model computes with.
/// Routes that the routers do not have are passed over; check_router_edits() finds them.
Routers edited_routers(Routers routers, const std::vector<RouterEdit>& edits);

/// The scale of every weight of one layer, [kv_heads, (layer + 1) * kv_heads]: 1 where no edit
/// names it.
MatrixD edit_scales(const std::vector<RouterEdit>& edits, std::int64_t layer,
                    std::int64_t num_key_value_heads);

/// Weights that an edit names in routers of this shape. Layer 0 has none.
std::int64_t num_edited_weights(const RouterEdit& edit, std::int64_t num_layers,
                                std::int64_t num_key_value_heads);

}  // namespace lime
