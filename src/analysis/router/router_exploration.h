// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/router_layout.h"
#include "core/matrix.h"
#include "metrics/router/router_maps.h"

namespace lime {

class Checkpoint;

/// Weight of a router, ranked among those of its target head.
struct RouterWeight {
  double weight = 0.0;           ///< signed
  double share = 0.0;            ///< |weight| over the sum of the target head's
  std::int64_t rank = 1;         ///< by |weight|; equal ones share the better rank
  std::int64_t num_sources = 1;  ///< buffered heads that the target head reads
};

/// Routers of a checkpoint for interactive exploration. Immutable and thread-safe.
class RouterExploration {
 public:
  /// @throws as routers_of()
  explicit RouterExploration(const Checkpoint& checkpoint);
  explicit RouterExploration(Routers routers);

  const Routers& routers() const { return routers_; }
  std::int64_t num_layers() const { return routers_.num_layers(); }
  std::int64_t num_heads() const { return routers_.num_key_value_heads; }
  /// Returns false if every head reads itself, as in a plain transformer.
  bool is_routed() const { return is_routed_; }
  bool has_shape_of(const RouterExploration& other) const;

  /// Returns router_layer_values(), computed once because it reads every weight.
  const MatrixD& layer_values(RouterQuantity quantity) const {
    return layer_values_[static_cast<std::size_t>(quantity)];
  }
  RouterWeight weight(std::int64_t layer, std::int64_t head, std::int64_t source_layer,
                      std::int64_t source_head) const;

 private:
  Routers routers_;
  bool is_routed_ = false;
  std::array<MatrixD, 4> layer_values_;  ///< by RouterQuantity
};

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
  explicit EditedRouters(std::shared_ptr<const RouterExploration> trained);

  void set_edits(std::vector<RouterEdit> edits);

  const std::vector<RouterEdit>& edits() const { return edits_; }
  const RouterExploration& trained() const { return *trained_; }

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

  std::shared_ptr<const RouterExploration> trained_;
  std::vector<RouterEdit> edits_;
  RouteScales edit_scales_{edits_};
  MatrixD layer_values_;
  std::vector<RouteState> states_;  ///< by place()
  std::vector<bool> is_stale_;      ///< likewise
};

}  // namespace lime
