// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "checkpoint/model_config.h"
#include "checkpoint/parse_model_config.h"
#include "core/options.h"

namespace lime {

/// Architecture of the decoder to train, with the names of config.json; describe() explains every
/// field. The defaults are the paper's model of the Arithmetic Expression Task.
struct ModelOptions {
  std::string decoder = "llama";                     ///< one of decoder_names()
  std::optional<std::string> blocks = std::nullopt;  ///< of a decoder that is a routing
  // The routings have the objects of config.json.
  LimeConfig lime;
  DenseFormerConfig denseformer;
  HyperConnectionsConfig hyper_connections;
  bool first_layer_only = false;  ///< of resformer
  AttnResConfig attn_res;
  MhcConfig mhc;
  DepthAttentionConfig depth_attention;
  MuddConfig mudd;
  // Options of all decoders:
  std::int64_t num_hidden_layers = 4;
  std::int64_t num_attention_heads = 4;
  std::optional<std::int64_t> num_key_value_heads = std::nullopt;  ///< divides the query heads
  std::int64_t hidden_size = 32;
  std::optional<std::int64_t> intermediate_size = std::nullopt;
  // Of mixtures of experts:
  std::int64_t num_experts = 8;
  std::int64_t num_experts_per_tok = 2;
  std::optional<std::int64_t> moe_intermediate_size = std::nullopt;
  double router_aux_loss_coef = 0.0;
  std::int64_t max_position_embeddings = 512;
  bool untie_word_embeddings = false;  ///< the paper's models tie them
  double initializer_range = 0.02;

  /// Returns the options that produce a decoder of this configuration.
  static ModelOptions of(const ModelConfig& config);

  void describe(OptionList& list);

  /// Checks that the decoder and its router use every given option.
  /// @param given  names of options, including options unrelated to the model; of the optimiser's,
  ///               router_learning_rate is checked too.
  /// @throws InvalidArgument  naming the first unused option and what it applies to.
  void require_used(const std::set<std::string>& given) const;

  /// Returns the configuration for a tokenizer with `vocab_size` tokens.
  /// @throws FormatError      naming the first invalid size, e.g. heads that do not divide.
  /// @throws InvalidArgument  if weights cannot be initialised with these options.
  ModelConfig config(std::int64_t vocab_size, std::int64_t bos_token_id,
                     std::int64_t eos_token_id) const;

  /// Returns the configuration of a model whose blocks get the routing that `decoder` names; `base`
  /// itself if `decoder` names none or `base` has one.
  /// @throws FormatError  if the routing does not compose with the blocks.
  ModelConfig routed(ModelConfig base) const;

 private:
  void set_routing(ModelConfig& config) const;
};

}  // namespace lime
