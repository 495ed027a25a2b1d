// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/router/router_exploration.h"
#include "checkpoint/router_edit.h"
#include "metrics/router/router_maps.h"

namespace lime {

/// Routers with every route scaled as the edits say: those that the edited model computes with.
/// Routes that the routers do not have are passed over; check_router_edits() finds them.
Routers edited_routers(Routers routers, const std::vector<RouterEdit>& edits);

/// The scale of every weight of one layer, [kv_heads, (layer + 1) * kv_heads]: 1 where no edit
/// names it.
MatrixD edit_scales(const RouteScales& edits, std::int64_t layer, std::int64_t num_key_value_heads);

/// Weights that an edit names in routers of this shape. Layer 0 has none.
std::int64_t num_edited_weights(const RouterEdit& edit, std::int64_t num_layers,
                                std::int64_t num_key_value_heads);

/// What edits do to a set of routes.
enum class RouteState {
  kAsTrained,  ///< all have scale 1
  kScaled,     ///< some have another one
  kOff,        ///< all have 0
};

/// Routers for somebody who edits them step by step: of each change only the blocks of weights that
/// it names are looked at again, and no copy of the weights is made. For one thread at a time.
class EditedRouters {
 public:
  /// Without edits. @param trained  must not be null.
  explicit EditedRouters(std::shared_ptr<const RouterExploration> trained);

  /// Takes the place of all edits before.
  void set_edits(std::vector<RouterEdit> edits);

  const std::vector<RouterEdit>& edits() const { return edits_; }
  const RouterExploration& trained() const { return *trained_; }

  /// router_layer_values() of edited_routers(), kSigned.
  const MatrixD& layer_values() const { return layer_values_; }
  /// Of all routes from the heads of `source` to those of `layer`, source <= layer.
  RouteState state(std::int64_t layer, std::int64_t source) const;

  /// edit_scales() of one layer.
  MatrixD scales(std::int64_t layer) const;
  /// A weight as it is after the edits.
  double weight(std::int64_t layer, std::int64_t head, std::int64_t source,
                std::int64_t source_head) const;

 private:
  /// Blocks that `edit` names, as `is_stale` by layer and source.
  void mark_stale(const RouterEdit& edit);
  void refresh_block(std::int64_t layer, std::int64_t source);
  std::size_t place(std::int64_t layer, std::int64_t source) const {
    return static_cast<std::size_t>(layer * trained_->num_layers() + source);
  }

  std::shared_ptr<const RouterExploration> trained_;
  std::vector<RouterEdit> edits_;
  RouteScales edit_scales_{edits_};
  MatrixD layer_values_;
  std::vector<RouteState> states_;  ///< by place()
  std::vector<bool> is_stale_;      ///< likewise
};

}  // namespace lime
