// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "checkpoint/model_config.h"

namespace lime {

/// Tells which heads must change their coordinates together since a routing adds them.
struct HeadSharing {
  bool across_layers = false;
  bool across_heads = false;
};

/// Returns true if a routing of LIMe adds keys and values of several layers.
bool has_router(const ModelConfig& config);
/// Returns true if a routed head also reads other heads than its own.
bool mixes_heads(const ModelConfig& config);

HeadSharing value_sharing(const ModelConfig& config);
/// Keys after their norm, if they have one.
HeadSharing key_sharing(const ModelConfig& config);

/// Returns what `draw` draws for each key-value head of each layer, [layer][head]; heads that share
/// coordinates have the same.
std::vector<std::vector<at::Tensor>> draw_for_heads(const ModelConfig& config,
                                                    const HeadSharing& sharing,
                                                    const std::function<at::Tensor()>& draw);

/// Returns [num_key_value_heads * n] factors, n per head, repeated for the query heads of each
/// key-value head: [num_attention_heads * n].
at::Tensor for_query_heads(const ModelConfig& config, const at::Tensor& of_heads);

}  // namespace lime
