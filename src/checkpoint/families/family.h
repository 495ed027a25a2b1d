// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "checkpoint/families/key_reader.h"
#include "checkpoint/model_config.h"

namespace lime {

/// Contains the keys of config.json for the sizes, where families name them differently.
struct SizeKeys {
  const char* hidden_size = "hidden_size";
  const char* intermediate_size = "intermediate_size";
  const char* num_hidden_layers = "num_hidden_layers";
  const char* num_attention_heads = "num_attention_heads";
  const char* num_key_value_heads = "num_key_value_heads";  ///< null: as many as heads
  const char* head_dim = "head_dim";                        ///< null: hidden_size / heads
  const char* max_position_embeddings = "max_position_embeddings";
  const char* activation = "hidden_act";  ///< null: set by Family::read()
};

/// Another name of a key, in files that the model's authors wrote; `key` wins if both are there.
struct KeyAlias {
  const char* alias;
  const char* key;
};

/// Describes how one `model_type` of config.json is read and written.
struct Family {
  std::string_view model_type;    ///< e.g. "qwen3"
  std::string_view architecture;  ///< e.g. "Qwen3ForCausalLM"
  SizeKeys keys = {};
  std::span<const KeyAlias> aliases = {};
  /// Defaults of transformers for absent keys, from its configuration_*.py.
  std::int64_t num_key_value_heads = 0;  ///< 0: as many as num_attention_heads
  std::int64_t head_dim = 0;             ///< 0: hidden_size / num_attention_heads
  std::int64_t inner_per_hidden = 0;     ///< intermediate_size / hidden_size; 0: no default
  std::string_view activation = "silu";
  std::int64_t max_position_embeddings = 2048;
  bool tie_word_embeddings = false;
  bool is_for_new_models = true;  ///< listed by decoder_names()
  /// Tokenizer class that transformers 5 uses for this family in any case; empty if none.
  std::string_view assumed_tokenizer = {};
  const char* num_experts_key = nullptr;  ///< of mixtures of experts; null: none
  bool has_expert_width = false;          ///< moe_intermediate_size; else intermediate_size
  bool reads_mxfp4 = false;               ///< packed experts may be quantised
  /// Sets config.spec, after the sizes have been read. Refuses what it does not implement.
  /// @throws FormatError  that names the key at fault.
  void (*read)(const KeyReader& keys, ModelConfig& config) = nullptr;
  /// Writes the keys that read() reads into a new config; null if the sizes alone describe a model.
  void (*write)(const ModelConfig& config, Json& json) = nullptr;
};

/// Returns all families, in the order of the documentation.
std::span<const Family* const> all_families();

/// Returns the family of a `model_type`, or null.
const Family* find_family(std::string_view model_type);

/// Reads and writes `rms_norm_eps` and the rotary embedding of LLaMA.
void read_llama_basics(const KeyReader& keys, ModelConfig& config);
void write_llama_basics(const ModelConfig& config, Json& json);

/// Reads the keys of a `llama`.
void read_llama(const KeyReader& keys, ModelConfig& config);

/// Reads the epsilon of the norms. @throws FormatError  if it is negative.
double read_norm_eps(const KeyReader& keys, const char* key, double otherwise);

/// Reads a LayerNorm with biases. @throws FormatError  if its epsilon is negative.
NormSpec read_layer_norm(const KeyReader& keys, const char* key, double otherwise = 1e-5);

/// Replaces the rotary embedding by learned positions, the first of which is row `offset`.
void set_learned_positions(DecoderSpec& spec, std::int64_t offset);

/// Throws FormatError: `key` must be `expected`, e.g. "false, because X", which are not supported.
/// Names Python's recorder with the layers of `config.spec.names`.
[[noreturn]] void refuse_variant(const KeyReader& keys, const char* key, std::string_view expected,
                                 const ModelConfig& config);

/// Reads `attention_bias`, of the projections before and after attention.
void read_attention_bias(const KeyReader& keys, ModelConfig& config, bool otherwise = false);

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
