// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metrics/router/routed_values.h"
#include "metrics/router/router_maps.h"
#include "store/capture_reader.h"

namespace lime {

class Checkpoint;

/// Returns the routers of a checkpoint as full ones; the identity for a plain transformer.
/// @throws InvalidArgument  if they depend on the token, or the decoder mixes layers without
///                          routers.
/// @throws FormatError      as Checkpoint::read()
Routers routers_of(const Checkpoint& checkpoint);

/// Returns the routers stored in a capture; the identity for layers without one.
/// @throws FormatError  if a router does not fit the capture's config.
Routers routers_of(const CaptureReader& capture);

/// Returns the same per layer, with the weights of every dimension if the routers have them.
/// @throws InvalidArgument  if the capture contains only their means.
std::vector<LayerRouter> layer_routers_of(const Checkpoint& checkpoint);
std::vector<LayerRouter> layer_routers_of(const CaptureReader& capture);

/// Returns the root mean square of each buffered head of `site`, [num_layers, kv_heads].
/// @throws FormatError  if the capture lacks the statistics of a layer.
HeadScales head_scales_of(const CaptureReader& capture, const std::string& site,
                          const Routers& routers);
/// Returns the root mean square of each dimension, [num_layers, kv_heads * head_dim].
HeadScales dimension_scales_of(const CaptureReader& capture, const std::string& site,
                               std::int64_t num_layers);

/// Returns true if `capture` contains activations of `site` of layers 0 to `last_layer`.
bool has_all_layers(const CaptureReader& capture, const std::string& site, std::int64_t last_layer);

}  // namespace lime
