// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "checkpoint/decoder_spec.h"
#include "checkpoint/families/key_reader.h"
#include "checkpoint/model_config.h"
#include "checkpoint/norm_spec.h"
#include "core/json.h"

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

}  // namespace lime
