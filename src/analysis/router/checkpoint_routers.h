// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/matrix.h"
#include "metrics/router/router_flow.h"  // for views, which may not include metrics
#include "metrics/router/router_maps.h"
#include "metrics/router/routers.h"

namespace lime {

class Checkpoint;

/// Weight of a router, ranked among those of its target head.
struct RouterWeight {
  double weight = 0.0;           ///< signed
  double share = 0.0;            ///< |weight| over the sum of the target head's
  std::int64_t rank = 1;         ///< by |weight|; equal ones share the better rank
  std::int64_t num_sources = 1;  ///< buffered heads that the target head reads
};

/// Routers of a checkpoint with what heatmaps of all layers show. Immutable and thread-safe.
class CheckpointRouters {
 public:
  /// @throws as routers_of()
  explicit CheckpointRouters(const Checkpoint& checkpoint);
  explicit CheckpointRouters(Routers routers);

  const Routers& routers() const { return routers_; }
  std::int64_t num_layers() const { return routers_.num_layers(); }
  std::int64_t num_heads() const { return routers_.num_key_value_heads; }
  /// Returns false if every head reads itself, as in a plain transformer.
  bool is_routed() const { return is_routed_; }
  bool has_shape_of(const CheckpointRouters& other) const;

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

}  // namespace lime
