// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "checkpoint/families/key_reader.h"
#include "checkpoint/model_config.h"
#include "checkpoint/rope_spec.h"
#include "core/json.h"

namespace lime {

/// Describes how a family reads its rotary embedding.
struct RopeReading {
  double theta = 10000.0;                ///< where the file gives none
  const char* theta_key = "rope_theta";  ///< outside of the RoPE object
  bool may_be_partial = false;           ///< set_rotary_dim() reads the rotated fraction
  /// Keys of the RoPE object that the family reads by itself.
  std::span<const char* const> own_keys = {};
  /// Overrides the value in the RoPE object, as transformers does for Phi-3.
  std::optional<std::int64_t> original_max_position_embeddings = std::nullopt;
};

/// Reads the rotary embedding, the same for all layers. transformers 4 writes `rope_theta` and
/// `rope_scaling`; transformers 5 writes `rope_parameters` with `rope_theta` inside. A
/// `rope_scaling` that is not empty wins there, and here. Values that follow from others (the
/// `attention_factor` of YaRN) are computed; unknown keys add a line to config.warnings.
/// @throws FormatError  that names the key at fault.
RopeSpec read_rope(const KeyReader& keys, ModelConfig& config, const RopeReading& how = {});

/// Reads a rotary embedding of whole heads. @throws FormatError  as read_rope(), or if the config
/// rotates a part of each head only.
RopeSpec read_whole_rope(const KeyReader& keys, ModelConfig& config, double theta = 10000.0);

/// Describes the bases of layers without and with a sliding window.
struct LayerTypeThetas {
  double full_theta;
  double sliding_theta;
  const char* sliding_theta_key = nullptr;  ///< of transformers 4; null: none
};

/// Reads the rotary embeddings of layers without [0] and with [1] a sliding window (OLMo 3, Gemma
/// 3): `rope_parameters` per layer type, or `rope_theta` and `rope_scaling` for those without a
/// window.
/// @throws FormatError  that names the key at fault.
std::array<RopeSpec, 2> read_ropes_by_layer_type(const KeyReader& keys, ModelConfig& config,
                                                 const LayerTypeThetas& thetas);

/// Selects from these for each layer by its window.
void set_ropes_by_window(ModelConfig& config, const std::array<RopeSpec, 2>& ropes);

/// Selects what a single rotated dimension means: transformers rotates two, or computes nonsense.
enum class OneDimension { kMeansTwo, kRefused };

/// Sets the number of rotated dimensions: `partial_rotary_factor` of the RoPE object, or `key`.
/// @throws FormatError  if the number is odd or the two keys differ.
void set_rotary_dim(const KeyReader& keys, const char* key, double otherwise, ModelConfig& config,
                    OneDimension one_dimension = OneDimension::kMeansTwo);

/// Returns the place in config.json that errors about `config.spec.ropes[index]` name, e.g.
/// "'rope_scaling'" or "'rope_parameters': 'sliding_attention'".
std::string rope_place(const ModelConfig& config, std::size_t index);

/// Writes `rope_theta` and `rope_scaling`.
void write_rope(const RopeSpec& rope, Json& json);

/// Throws FormatError if the config rotates a part of each head only.
void refuse_partial_rotation(const KeyReader& keys);

}  // namespace lime
