// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/router/checkpoint_routers.h"
#include "checkpoint/router_layout.h"
#include "core/matrix.h"

namespace lime {

/// Returns the scale of every weight of one layer, [kv_heads, (layer + 1) * kv_heads].
MatrixD edit_scales(const RouteScales& edits, std::int64_t layer, std::int64_t num_key_value_heads);

/// Returns the number of weights that an edit selects in routers of this shape. Layer 0 has none.
std::int64_t num_edited_weights(const RouterEdit& edit, std::int64_t num_layers,
                                std::int64_t num_key_value_heads);

enum class RouteState {
  kOriginal,  ///< all have scale 1
  kScaled,    ///< some have a different scale
  kOff,       ///< all have scale 0
};

/// Routers with interactive edits. Each change recomputes only the blocks of weights that it
/// selects, without copying the weights. Not thread-safe.
class EditedRouters {
 public:
  explicit EditedRouters(std::shared_ptr<const CheckpointRouters> trained);

  void set_edits(std::vector<RouterEdit> edits);

  const std::vector<RouterEdit>& edits() const { return edits_; }
  const CheckpointRouters& trained() const { return *trained_; }

  /// Returns router_layer_values() of the edited routers, kSigned.
  const MatrixD& layer_values() const { return layer_values_; }
  /// Returns the state of all routes from the heads of `source`, <= layer, to those of `layer`.
  RouteState state(std::int64_t layer, std::int64_t source) const;

  MatrixD scales(std::int64_t layer) const;
  double weight(std::int64_t layer, std::int64_t head, std::int64_t source,
                std::int64_t source_head) const;

 private:
  /// Marks the blocks that `edit` selects in `is_stale`, by layer and source.
  void mark_stale(const RouterEdit& edit);
  void refresh_block(std::int64_t layer, std::int64_t source);
  std::size_t place(std::int64_t layer, std::int64_t source) const {
    return static_cast<std::size_t>(layer * trained_->num_layers() + source);
  }

  std::shared_ptr<const CheckpointRouters> trained_;
  std::vector<RouterEdit> edits_;
  RouteScales edit_scales_{edits_};
  MatrixD layer_values_;
  std::vector<RouteState> states_;  ///< by place()
  std::vector<bool> is_stale_;      ///< likewise
};

}  // namespace lime
