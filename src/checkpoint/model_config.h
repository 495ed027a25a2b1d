// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/decoder_spec.h"
#include "checkpoint/depth_routing.h"
#include "core/json.h"

namespace lime {

/// Stores the configuration of a decoder from config.json, under Hugging Face's key names.
///
/// The defaults here are not a valid decoder; parse_model_config() fills in the defaults of
/// transformers for each `model_type`.
struct ModelConfig {
  /// Family of the blocks by its `model_type` in transformers, e.g. "llama"; see DecoderSpec.
  std::string family = "llama";
  DecoderSpec spec;
  DepthRouting routing = DepthRouting::kNone;

  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;  ///< divides num_attention_heads
  std::int64_t head_dim = 0;             ///< hidden_size / num_attention_heads if not given
  std::int64_t max_position_embeddings = 2048;
  bool tie_word_embeddings = false;
  /// False for a base model, whose tensors lack the output projection: it has no logits.
  bool has_head = true;
  std::optional<std::int64_t> bos_token_id = std::nullopt;
  std::vector<std::int64_t> eos_token_ids;  ///< one id or a list in the file; may be empty
  /// Standard deviation of the matrices before training; transformers' default.
  double initializer_range = 0.02;
  std::string torch_dtype;  ///< `torch_dtype` or `dtype` of the file, e.g. "bfloat16"; or empty
  LimeConfig lime;          ///< read for DepthRouting::kLime only, as the following for theirs
  DenseFormerConfig denseformer;
  HyperConnectionsConfig hyper_connections;
  /// `first_layer_only` of the object `resformer`: every layer reads the values of layer 0 and has
  /// none of its own (SVFormer). Source: Zhou et al. (2024), arXiv:2410.17897.
  bool first_layer_values_only = false;
  AttnResConfig attn_res;
  MhcConfig mhc;
  DepthAttentionConfig depth_attention;
  MuddConfig mudd;
  Json raw;  ///< the file as it was read, for provenance; null if not from a file
  std::vector<std::string> warnings;  ///< of the reader, one line each

  /// Returns the name of the decoder: the family, the routing, or both ("qwen3 + lime").
  std::string name() const;

  /// Returns the width of the MLP of a layer, or of one of its experts.
  std::int64_t mlp_width(std::int64_t layer) const {
    if (const ExpertsSpec* const experts = spec.experts_of(layer)) {
      return experts->intermediate_size;
    }
    return spec.layer(layer).intermediate_size.value_or(intermediate_size);
  }

  /// Returns the largest number of tokens in a sequence: that of learned positions, else unlimited.
  /// Rotary embeddings are defined at every position, beyond max_position_embeddings too, where
  /// that of `dynamic` begins to scale.
  std::int64_t max_length() const {
    return spec.learned_position_offset ? max_position_embeddings
                                        : std::numeric_limits<std::int64_t>::max();
  }

  /// Returns the number of leading dimensions of a head that rotate; 0 without rotary embeddings.
  std::int64_t rotary_dim() const;

  /// Checks that sizes are positive, heads divide, and all features are supported.
  /// @throws FormatError  that begins with `where` and names the first key at fault.
  void validate(std::string_view where) const;

  /// Checks that the model has logits.
  /// @throws InvalidArgument  that begins with `where` and names the missing tensor.
  void require_head(std::string_view where) const;

  /// Compares everything but `raw` and `warnings`.
  bool operator==(const ModelConfig& other) const;
};

}  // namespace lime
