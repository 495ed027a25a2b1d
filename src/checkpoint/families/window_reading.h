// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "checkpoint/families/key_reader.h"
#include "checkpoint/model_config.h"
#include "core/json.h"

namespace lime {

/// Returns which layers slide according to `layer_types`; nothing if it is absent.
/// @param has_window  false: no layer may slide
/// @throws FormatError  that names the entry at fault.
std::optional<std::vector<bool>> read_layer_types(const KeyReader& keys, std::int64_t num_layers,
                                                  bool has_window);

/// Returns `sliding_window`, 4096 if it is absent; nothing if it is null.
std::optional<std::int64_t> read_window(const KeyReader& keys);

/// Returns true for all layers but every `period`-th.
std::vector<bool> all_but_every(std::int64_t period, std::int64_t num_layers);

/// Sets the windows of the layers, one flag per layer.
void set_windows(ModelConfig& config, const std::vector<bool>& slides, std::int64_t window);

/// Sets the windows of a family that slides in all layers but every `period`-th, or as
/// `layer_types` says. @throws FormatError  if a layer slides and `sliding_window` is null.
void set_alternating_windows(const KeyReader& keys, ModelConfig& config, std::int64_t period);

/// Writes `layer_types`.
void write_layer_types(const ModelConfig& config, Json& json);

}  // namespace lime
