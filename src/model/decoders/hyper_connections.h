// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "model/decoders/residual_stream.h"

namespace lime {

/// Returns the streams of Hyper-Connections or, by the routing, of their manifold-constrained form.
/// @param in_place  use the CPU kernels in the memory of `workspace`
std::unique_ptr<ResidualStream> make_hyper_connections(const ModelConfig& config,
                                                       const DecoderWeights& weights,
                                                       Workspace* workspace, bool in_place);

/// Fills the paper's initial values: `layer` reads stream layer % rate and adds to all streams.
void initialize_hyper_connection(const HyperConnectionWeights& weights, std::int64_t layer);

}  // namespace lime
