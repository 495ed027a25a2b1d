// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/model_config.h"

namespace lime {

/// Slots that lie side by side.
struct SlotRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  bool operator==(const SlotRange&) const = default;
};

/// Where buffered layers lie in memory, so that what a router reads always lies side by side, and
/// so that memory holds no layer longer than some router reads it.
///
///   full, average       one slot per layer
///   last j              j slots, written in turn
///   first j             j slots, and one for the layer at hand
///   first-and-previous  the first j between two slots that are written in turn
///   dilated j           a stretch of slots for each remainder of the layer by j
struct RouterPlan {
  struct Layer {
    std::int64_t own_slot = 0;    ///< where this layer's keys and values are written
    std::int64_t first_slot = 0;  ///< of those that its router reads
    /// The places in router_sources() of what lies in the slots first_slot, first_slot + 1, ...;
    /// empty where they are in order.
    std::vector<std::int64_t> order;
    std::int64_t num_sources = 1;
  };

  std::int64_t num_slots = 0;
  std::vector<Layer> layers;

  /// What earlier layers wrote and the routers of the layers from `next_layer` on read, ascending.
  std::vector<SlotRange> slots_read_from(std::int64_t next_layer) const;
};

RouterPlan plan_router(const LimeConfig& config, std::int64_t num_layers);

}  // namespace lime
